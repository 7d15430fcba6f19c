import type { ErrorCode } from '../../../kit/errors.ts';
import { bearerCredentials, type HeaderList } from '../../../kit/http/header-values.ts';
import type { ConfiguredBy } from '../../contract/agent-form.ts';
import type { Identity, Pass, Permit, Refusal, TrafficRequest, Verdict } from '../../contract/decides.ts';
import type { HeaderChange } from '../../contract/prepared-module.ts';
import { originOf } from '../../login/flow/return-target.ts';
import { LoginProblem } from '../../login/provider/login-problem.ts';
import { TOKEN_PREFIX } from '../../service-account-records.ts';
import type { AccessConfig } from '../access-config.ts';
import type { ProgramsRuntime } from '../access-runtime.ts';
import type { Recognizer } from '../recognizer.ts';
import type { Decision } from '../rules.ts';
import { AccountToken, type TokenState } from './account-tokens.ts';
import { claimedIssuer, MAX_WORKLOAD_TOKEN, tokenKey, Workload, type WorkloadTokens } from './workload-tokens.ts';

/** RFC 6750 §3.1; null: the request had no token for us (§3: then there is no error to report). */
type BearerError = 'invalid_request' | 'invalid_token' | 'insufficient_scope' | null;

interface TokenRefusal {
  readonly status: number;
  readonly code: ErrorCode;
  readonly error: BearerError;
  readonly reason: string;
  readonly message: string;
}

function tokenRefusal(request: TrafficRequest, { error, ...refusal }: TokenRefusal): Refusal {
  const { message, reason } = refusal;
  return {
    ...refusal,
    headers: ['www-authenticate', bearerChallenge(request, error, message)],
    details: { reason },
    accessRule: null,
  };
}

function bearerChallenge(request: TrafficRequest, error: BearerError, description: string): string {
  const realm = `Bearer realm="${request.host}"`;
  // RFC 6750 §3: the description has no quotes and no backslashes.
  const text = description.replaceAll(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, "'");
  return error === null ? realm : `${realm}, error="${error}", error_description="${text}"`;
}

function tokenInvalid(request: TrafficRequest, reason: string, message: string): Refusal {
  return tokenRefusal(request, {
    status: 401,
    code: 'ERR_POSTERN_ACCESS_TOKEN_INVALID',
    error: 'invalid_token',
    reason,
    message,
  });
}

function tokenMalformed(request: TrafficRequest, message: string): Refusal {
  return tokenRefusal(request, {
    status: 400,
    code: 'ERR_POSTERN_ACCESS_TOKEN_MALFORMED',
    error: 'invalid_request',
    reason: 'token_malformed',
    message,
  });
}

/** A bearer token that is nothing to us, where there is no login either. */
function tokenRequired(request: TrafficRequest): Refusal {
  return tokenRefusal(request, {
    status: 401,
    code: 'ERR_POSTERN_ACCESS_TOKEN_REQUIRED',
    error: null,
    reason: 'token_required',
    message: 'This site does not accept that bearer token. Send the token of a service account that may enter here.',
  });
}

/** This node cannot know whether the token was made, or revoked, at another one. */
function tokenUnverified(request: TrafficRequest): Refusal {
  const reason = 'token_unverified';
  return {
    status: 503,
    code: 'ERR_POSTERN_ACCESS_TOKEN_UNVERIFIED',
    reason,
    message:
      'The token cannot be verified now, because this node does not know what other nodes have changed. Try again in a few seconds.',
    headers: ['retry-after', '2', 'www-authenticate', bearerChallenge(request, null, '')],
    details: { reason },
    accessRule: null,
  };
}

function issuerUnavailable(request: TrafficRequest, issuer: string, reason: string): Refusal {
  return {
    status: 503,
    code: 'ERR_POSTERN_ACCESS_ISSUER_UNAVAILABLE',
    reason,
    message: `The token cannot be verified now, because the keys of ${issuer} cannot be fetched. Try again later.`,
    headers: ['retry-after', '5', 'www-authenticate', bearerChallenge(request, null, '')],
    details: { reason },
    accessRule: null,
  };
}

/** The token is valid, and the rules of this route do not let its holder in. */
export function tokenForbidden(request: TrafficRequest, identity: Identity, { reason, rule }: Decision): Refusal {
  const holder = identity.kind === 'service_account' ? 'service account' : 'workload';
  const refusal = tokenRefusal(request, {
    status: 403,
    code: 'ERR_POSTERN_ACCESS_TOKEN_FORBIDDEN',
    error: 'insufficient_scope',
    reason,
    message: `The token is valid, but the ${holder} "${identity.id}" may not enter here.`,
  });
  return { ...refusal, accessRule: rule, details: { reason, account: identity.id, kind: identity.kind } };
}

/** Tokens of the server have 47 characters. */
const MAX_OWN_TOKEN = 256;
/** One of our tokens where no bearer token stands, as in "Token pst_…". */
const STRAY_TOKEN = /(?:^|[^A-Za-z0-9_-])pst_[A-Za-z0-9_-]{40}/;

/**
 * Recognizes programs by their bearer token, on one route. A token that is neither ours nor from an issuer of the route
 * is the business of the application; the login decides about such a request.
 */
export class ProgramsOnRoute implements Recognizer {
  readonly #runtime: ProgramsRuntime;
  readonly #workloads: WorkloadTokens;
  /** Audiences by issuer. */
  readonly #issuers: ReadonlyMap<string, ReadonlySet<string>>;
  readonly #isEnforced: boolean;
  readonly #isTokenForwarded: boolean;

  constructor(runtime: ProgramsRuntime, config: AccessConfig, configuredBy: ConfiguredBy) {
    this.#runtime = runtime;
    this.#workloads = runtime.workloadTokensFor(configuredBy);
    this.#issuers = audiencesByIssuer(config);
    this.#isEnforced = config.enforce;
    this.#isTokenForwarded = config.forward_bearer;
  }

  identify(request: TrafficRequest): Verdict | null | Promise<Verdict | null> {
    const lines = request.headerLines('authorization');
    if (lines.length === 0) return null;
    const [line = ''] = lines;
    const remembered = lines.length === 1 ? this.#runtime.accountTokens.knownByLine(line) : undefined;
    if (remembered !== undefined) return this.#account(request, remembered);
    const credentials = bearerCredentials(lines);
    if (credentials === null) return lines.some((line) => STRAY_TOKEN.test(line)) ? this.#stray(request) : null;
    if (lines.length > 1) return this.#refused(tokenMalformed(request, SEVERAL_LINES));
    const { token, isWellFormed } = credentials;
    if (token.startsWith(TOKEN_PREFIX)) {
      if (!isWellFormed) return this.#stray(request);
      const found = this.#found(token, line);
      return found === undefined ? this.#accountLater(request, token, line) : this.#account(request, found);
    }
    if (this.#issuers.size === 0) return null;
    const key = tokenKey(token);
    const known = this.#workloads.known(key, request.nowMs);
    if (known !== null && this.#issuers.has(known.issuer)) return this.#workload(request, known);
    const issuer = claimedIssuer(token);
    if (issuer === null || !this.#issuers.has(issuer)) return null;
    if (token.length > MAX_WORKLOAD_TOKEN) return this.#refused(tokenInvalid(request, 'token_too_long', TOO_LONG));
    return this.#workloads.verify(token, key, issuer).then(
      (workload) => this.#workload(request, workload),
      (error: unknown) => this.#unverified(request, issuer, error),
    );
  }

  /** The answer to a request that nobody was recognized for, where no login is asked. */
  refusalWithout(request: TrafficRequest): Refusal | null {
    return bearerCredentials(request.headerLines('authorization')) === null ? null : tokenRequired(request);
  }

  upstreamHeaders(request: TrafficRequest): HeaderList | null {
    const { permit } = request;
    if (!isProgram(permit)) return null;
    const { identity } = this.#runtime.login;
    return permit.sentTo(request, (known) =>
      identity.current(known, request.nowMs, () => ({
        ...permit.upstreamUser(),
        origin: originOf(request),
        host: request.host,
      })),
    ).headers;
  }

  /** Upstreams need not hold a token that opens this route, and may be others' to run. */
  transformRequest(request: TrafficRequest): HeaderChange | null {
    if (this.#isTokenForwarded) return null;
    return isProgram(request.permit) || (!this.#isEnforced && hasOwnToken(request)) ? WITHOUT_TOKEN : null;
  }

  #found(text: string, line: string): AccountToken | undefined {
    if (text.length > MAX_OWN_TOKEN) return undefined;
    const { accountTokens } = this.#runtime;
    const token = accountTokens.find(text);
    if (token !== undefined) accountTokens.remember(line, token);
    return token;
  }

  /** Another node may have made the token a moment ago. All requests that wait share one read. */
  async #accountLater(request: TrafficRequest, text: string, line: string): Promise<Verdict> {
    if (text.length <= MAX_OWN_TOKEN) {
      try {
        await this.#runtime.followed.catchUp();
      } catch {
        return this.#refused(tokenUnverified(request));
      }
    }
    return this.#account(request, this.#found(text, line));
  }

  #account(request: TrafficRequest, token: AccountToken | undefined): Verdict {
    const state = token?.state(request.nowMs) ?? 'deleted';
    if (state === 'unknown') return this.#refused(tokenUnverified(request));
    if (token === undefined || state !== 'valid') {
      return this.#refused(tokenInvalid(request, `token_${state}`, STATE_MESSAGES[state]));
    }
    request.permit = token;
    return RECOGNIZED;
  }

  #workload(request: TrafficRequest, workload: Workload): Verdict {
    const wanted = this.#issuers.get(workload.issuer);
    if (wanted === undefined || !workload.audiences.some((audience) => wanted.has(audience))) {
      return this.#refused(tokenInvalid(request, 'workload_token_audience', WRONG_AUDIENCE));
    }
    request.permit = workload;
    return RECOGNIZED;
  }

  #unverified(request: TrafficRequest, issuer: string, error: unknown): Verdict {
    if (!(error instanceof LoginProblem)) throw error;
    if (error.kind === 'token') return this.#refused(tokenInvalid(request, error.reason, sentence(error.message)));
    this.#runtime.issuerFailed(request, issuer, error);
    return this.#refused(issuerUnavailable(request, issuer, error.reason));
  }

  #stray(request: TrafficRequest): Verdict {
    return this.#refused(tokenMalformed(request, MALFORMED));
  }

  /** A rehearsal refuses nobody. The login, if there is one, decides as it did before the rules. */
  #refused(refusal: Refusal): Verdict {
    if (this.#isEnforced) return refusal;
    return { isPass: true, reason: 'rehearsed', wouldRefuse: { reason: refusal.reason, rule: null } };
  }
}

const RECOGNIZED: Pass = { isPass: true, reason: 'token' };
const WITHOUT_TOKEN: HeaderChange = { remove: ['authorization'] };

const SEVERAL_LINES = 'The request has several Authorization fields. Send one.';
const MALFORMED = 'The token is not sent in the right form. Send the field "Authorization: Bearer pst_…" once.';
const TOO_LONG = `The token has more than ${MAX_WORKLOAD_TOKEN} characters.`;
const WRONG_AUDIENCE =
  'The token was not issued for this site: its "aud" is another. Request one for the right audience.';
const STATE_MESSAGES: Readonly<Record<TokenState, string>> = {
  valid: '',
  deleted: 'The token is unknown: it was deleted, or it is not complete.',
  expired: 'The token has expired. Create another one.',
  unknown: '',
  inactive: 'The service account of the token is not active.',
};

function isProgram(permit: Permit | null): permit is AccountToken | Workload {
  return permit instanceof AccountToken || permit instanceof Workload;
}

/** A rehearsal passes ours too when they are expired or unknown. */
function hasOwnToken(request: TrafficRequest): boolean {
  return request.headerLines('authorization').some((line) => STRAY_TOKEN.test(line));
}

function audiencesByIssuer({ bearer }: AccessConfig): ReadonlyMap<string, ReadonlySet<string>> {
  const byIssuer = new Map<string, Set<string>>();
  for (const { issuer, audiences } of bearer) {
    byIssuer.set(issuer, new Set([...(byIssuer.get(issuer) ?? []), ...audiences]));
  }
  return byIssuer;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
