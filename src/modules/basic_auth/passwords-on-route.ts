import type { HeaderList } from '../../kit/http/header-values.ts';
import type { AssumedPerson, Pass, Permit, Refusal, TrafficRequest, Verdict } from '../contract/decides.ts';
import type { HeaderChange, OwnPaths, PreparedModule } from '../contract/prepared-module.ts';
import type { TooManyAttempts } from '../login/flow/login-attempts.ts';
import { hashOfNobody, type PasswordVerdict } from '../login/password-checks.ts';
import {
  type BasicAuthRuntime,
  type BasicCredentials,
  basicCredentials,
  hasBasicCredentials,
  PasswordPermit,
} from './basic-auth-runtime.ts';
import { sameName } from './config.ts';

const BUSY_RETRY_SECONDS = 2;

/** Why somebody has to send a password. Visitors see the same for a wrong name and a wrong password. */
type ClosedReason = 'no_password' | 'password_malformed' | 'password_wrong' | 'password_unknown' | 'no_such_user';

const MESSAGES: Readonly<Record<ClosedReason, string>> = {
  no_password: 'This site requires a user name and a password.',
  password_malformed:
    'The user name and password cannot be read. Send one Authorization header with "Basic" and the base64 of "name:password" in UTF-8.',
  password_wrong: 'The user name or the password is wrong.',
  // For explanations, and for paths of the server itself.
  password_unknown: 'The user name and the password are not known to be right: nothing compares passwords here.',
  no_such_user: 'The person has no user name here: a claim "username" names one of the users.',
};

/** RFC 7617 §2.1: `charset` tells browsers to send UTF-8. */
function closed(realm: string): Readonly<Record<ClosedReason, Refusal>> {
  const challenge = `Basic realm="${realm.replaceAll(/["\\]/g, '\\$&')}", charset="UTF-8"`;
  const refusal = (reason: ClosedReason): Refusal => ({
    status: 401,
    code: 'ERR_POSTERN_PASSWORD_REQUIRED',
    title: 'A password is required',
    message: MESSAGES[reason],
    reason,
    headers: ['www-authenticate', challenge],
  });
  return {
    no_password: refusal('no_password'),
    password_malformed: refusal('password_malformed'),
    password_wrong: refusal('password_wrong'),
    password_unknown: refusal('password_unknown'),
    no_such_user: refusal('no_such_user'),
  };
}

/** Without a challenge: a browser would send the password where everybody can read it. */
const NOT_ENCRYPTED: Refusal = {
  status: 401,
  code: 'ERR_POSTERN_PASSWORD_REQUIRED',
  title: 'A password is required',
  message: 'This site requires a password, which must not be sent over plain HTTP. Use https.',
  reason: 'not_encrypted',
};

function passwordsLimited({ limit, retryAfterSeconds }: TooManyAttempts): Refusal {
  const cause = limit === 'address' ? 'from your address or network' : 'for this user name';
  return {
    status: 429,
    code: 'ERR_POSTERN_PASSWORD_RATE_LIMITED',
    title: 'Too many wrong passwords',
    message: `Too many wrong passwords were sent ${cause}. Try again in ${retryAfterSeconds} s.`,
    reason: limit === 'address' ? 'attempts_address' : 'attempts_user',
    headers: ['retry-after', String(retryAfterSeconds)],
  };
}

function passwordBusy(): Refusal {
  return {
    status: 503,
    code: 'ERR_POSTERN_PASSWORD_BUSY',
    title: 'Passwords cannot be checked at the moment',
    message: `The server is checking many passwords. Try again in ${BUSY_RETRY_SECONDS} s.`,
    reason: 'busy',
    headers: ['retry-after', String(BUSY_RETRY_SECONDS)],
  };
}

interface PasswordsConfig {
  readonly routeId: string;
  readonly realm: string;
  readonly passesOptions: boolean;
  /** With the hashes of their passwords. */
  readonly users: readonly { readonly username: string; readonly password?: string }[];
}

/** The module on one route, in one version of its configuration. */
export class PasswordsOnRoute implements PreparedModule {
  readonly ownPaths: OwnPaths;
  readonly #runtime: BasicAuthRuntime;
  readonly #config: PasswordsConfig;
  readonly #users: ReadonlyMap<string, PasswordPermit>;
  readonly #nobody: string;
  readonly #refusals: Readonly<Record<ClosedReason, Refusal>>;

  constructor(runtime: BasicAuthRuntime, config: PasswordsConfig) {
    const { realm, users } = config;
    this.#runtime = runtime;
    this.#config = config;
    this.ownPaths = runtime.login.ownPaths;
    this.#users = new Map(
      users.map(({ username, password: hash = '' }) => [
        sameName(username),
        new PasswordPermit(username, hash, runtime.sessionId(hash)),
      ]),
    );
    this.#nobody = hashOfNobody(users[0]?.password);
    this.#refusals = closed(realm);
  }

  /** Compares no password: only a header that was right before, or the request's own earlier one, passes. */
  judge(request: TrafficRequest): Verdict {
    const early = this.#withoutPassword(request);
    if (early !== null) return early;
    const guest = request.permit;
    const before = this.#runtime.admitted.get(request);
    const name = sameName(before?.userId ?? '');
    if (before !== undefined && this.#users.get(name)?.hash === before.hash) return this.#admitted(request, name);
    const credentials = basicCredentials(request.headerLines('authorization'));
    if (credentials === null) return this.#refused(request, guest, this.#withoutCredentials(request));
    const { hash } = this.#claimed(credentials);
    return this.#isRemembered(this.#runtime.digest(credentials, hash))
      ? this.#admitted(request, credentials.username)
      : this.#refused(request, guest, this.#refusals.password_unknown);
  }

  admit(request: TrafficRequest): Verdict | Promise<Verdict> {
    const early = this.#withoutPassword(request);
    if (early !== null) return early;
    const guest = request.permit;
    const credentials = basicCredentials(request.headerLines('authorization'));
    if (credentials === null) {
      const refusal = this.#withoutCredentials(request);
      if (refusal === this.#refusals.password_malformed) this.#runtime.count('malformed');
      return this.#refused(request, guest, refusal);
    }
    const { hash } = this.#claimed(credentials);
    const digest = this.#runtime.digest(credentials, hash);
    if (this.#isRemembered(digest)) {
      this.#runtime.count('remembered');
      return this.#admitted(request, credentials.username);
    }
    const { routeId } = this.#config;
    const verdict = this.#runtime.login.attempts.checkPassword({
      password: credentials.password,
      hash,
      digest,
      slot: this.#runtime.slot(routeId, credentials.username),
      clientAddress: request.clientAddress,
    });
    const judged = (late: PasswordVerdict): Verdict => {
      if (late !== 'right') return this.#refused(request, guest, this.#wrong(late));
      this.#runtime.remembered.set(digest, true);
      this.#runtime.count('right');
      return this.#admitted(request, credentials.username);
    };
    return verdict instanceof Promise ? verdict.then(judged) : judged(verdict);
  }

  /** An explanation knows no password: it takes the person for somebody who has sent theirs. */
  assume(request: TrafficRequest, { email, claims }: AssumedPerson): Verdict {
    const early = this.#withoutPassword(request);
    if (early !== null) return early;
    const { username } = claims;
    const name = sameName(typeof username === 'string' ? username : email);
    const guest = request.permit;
    if (!this.#users.has(name)) return this.#refused(request, guest, this.#refusals.no_such_user);
    const verdict = this.#admitted(request, name);
    return { ...verdict, text: `Assumes that the request has the password of the user "${name}".` };
  }

  upstreamHeaders(request: TrafficRequest): HeaderList {
    const { permit } = request;
    return permit instanceof PasswordPermit ? permit.upstreamHeaders(this.#runtime.login.identity, request) : NOBODY;
  }

  /** Passwords stay here, also wrong ones of guests. */
  transformRequest(request: TrafficRequest): HeaderChange | null {
    return hasBasicCredentials(request.headerLines('authorization')) ? WITHOUT_PASSWORD : null;
  }

  /** What is decided before anybody looks at a password; null: nothing. */
  #withoutPassword(request: TrafficRequest): Verdict | null {
    const { permit } = request;
    // A permit of a person is a login's, perhaps of an earlier configuration, and proves nothing here.
    if (permit?.identity.kind === 'user') request.permit = null;
    else if (permit !== null && permit.identity.kind !== 'guest') return RECOGNIZED;
    if (request.method === 'OPTIONS' && this.#config.passesOptions && permit === null) {
      request.isExemptFromLogin = true;
      return OPTIONS_PASS;
    }
    return request.scheme === 'https' ? null : NOT_ENCRYPTED;
  }

  /** Nobody's hash for an unknown name, so that it takes as long. */
  #claimed({ username }: BasicCredentials): { readonly hash: string } {
    return { hash: this.#users.get(username)?.hash ?? this.#nobody };
  }

  #isRemembered(digest: string): boolean {
    return this.#runtime.remembered.get(digest) === true;
  }

  #admitted(request: TrafficRequest, username: string): Pass {
    // Nobody's hash belongs to no password, so the right one is that of a user.
    const permit = this.#users.get(username) as PasswordPermit;
    request.permit = permit;
    this.#runtime.admitted.set(request, permit);
    return LOGGED_IN;
  }

  /** A guest who sends no right password stays the guest. */
  #refused(request: TrafficRequest, guest: Permit | null, refusal: Refusal): Verdict {
    if (guest?.identity.kind !== 'guest') return refusal;
    request.permit = guest;
    return RECOGNIZED;
  }

  #withoutCredentials(request: TrafficRequest): Refusal {
    const isThere = hasBasicCredentials(request.headerLines('authorization'));
    return isThere ? this.#refusals.password_malformed : this.#refusals.no_password;
  }

  #wrong(verdict: Exclude<PasswordVerdict, 'right'>): Refusal {
    if (verdict === 'wrong') {
      this.#runtime.count('wrong');
      return this.#refusals.password_wrong;
    }
    if (verdict === 'busy') {
      this.#runtime.count('busy');
      return passwordBusy();
    }
    this.#runtime.count('limited');
    return passwordsLimited(verdict);
  }
}

const NOBODY: HeaderList = [];
const WITHOUT_PASSWORD: HeaderChange = { remove: ['authorization'] };
const LOGGED_IN: Pass = { isPass: true, reason: 'logged_in' };
const RECOGNIZED: Pass = { isPass: true, reason: 'recognized' };
const OPTIONS_PASS: Pass = { isPass: true, reason: 'options_passthrough' };
