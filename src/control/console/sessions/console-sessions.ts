import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { type Clock, rfc3339 } from '../../../kit/clock.ts';
import { cookiesWhere } from '../../../kit/http/cookie-header.ts';
import type { JsonObject } from '../../../kit/json.ts';
import { hashToken, isSameSecret } from '../../../kit/text/secrets.ts';
import type { Replica } from '../../../store/replica/replica.ts';
import type { RecordKey, Store } from '../../../store/store.ts';
import {
  CONSOLE_SESSION_KIND,
  type ConsoleSession,
  endsAtMs,
  isOver,
  type LoggedIn,
  sessionDoc,
  sessionOf,
} from '../../resources/console-session-record.ts';
import type { Principal } from '../../resources/operation.ts';
import { isRole, scopesOfRole } from '../roles.ts';

const NAME = 'postern_console';
/** Several servers on one host share cookies. A sibling host can add those without `__Host-`. */
const OWN_NAMES = [/^__Host-postern_console(?:_\d{1,5})?$/, /^postern_console(?:_\d{1,5})?$/];

/**
 * Names differ by port: browsers send cookies to all ports of a host, and servers there must not overwrite each
 * other's.
 */
function cookieName(origin: URL): string {
  const port = origin.port === '' ? '' : `_${origin.port}`;
  return `${origin.protocol === 'https:' ? '__Host-' : ''}${NAME}${port}`;
}

/** For a page of this origin. `__Host-`: no other host can set or replace it (RFC 6265bis §4.1.3.2). */
export function sessionCookie(origin: URL, value: string): string {
  const secure = origin.protocol === 'https:' ? '; Secure' : '';
  return `${cookieName(origin)}=${value}; Path=/; HttpOnly; SameSite=Strict${secure}`;
}

export function endedCookie(origin: URL): string {
  return `${sessionCookie(origin, '')}; Max-Age=0`;
}

/** Values of all cookies of consoles; only one can match the token. First those that no other host can have set. */
function cookieCandidates(header: string | undefined): readonly string[] {
  const lines = header === undefined ? [] : [header];
  return OWN_NAMES.flatMap((own) => cookiesWhere(lines, ({ name }) => own.test(name))).map(({ value }) => value);
}

export const TOKEN_HEADER = 'postern-console-token';
/** How exact `lastUsedAtMs` is: every use would be a write. */
const TOUCH_AFTER_MS = 5 * 60_000;
/** The oldest ends: a key that logs in over and over must not fill the store. */
const MAX_PER_OWNER = 100;
const MAX_USER_AGENT = 256;

interface ConsoleSessionsOptions {
  readonly store: Pick<Store, 'commit'>;
  readonly replica: Pick<Replica, 'get' | 'all'>;
  readonly clock: Clock;
  readonly newId: (prefix: string) => string;
  readonly idleMs: number;
  readonly lifetimeMs: number;
  /** Fingerprint of the settings that give roles to people; null: nobody logs in with OpenID Connect. */
  readonly peopleSettings: string | null;
  /** What links of commands on this machine may do; null: the setting `local_commands` is off. */
  readonly localScopes: readonly string[] | null;
  /** See `People`. */
  readonly currentRoleOf?: ((subject: string) => string | null) | null;
  readonly onProblem: (error: unknown) => void;
}

export interface StartedSession {
  readonly session: ConsoleSession;
  /** Shown once each: the store has their hashes. */
  readonly cookie: string;
  readonly token: string;
}

/**
 * Sessions of the console, stored as records, so that every node accepts them and a deletion ends them everywhere. A
 * session needs its cookie and its token: a neighbor on another port of the host receives the cookie, but not the
 * token, and a script that reads the token cannot read the cookie.
 */
export class ConsoleSessions {
  readonly #options: ConsoleSessionsOptions;
  readonly #touching = new Set<string>();

  constructor(options: ConsoleSessionsOptions) {
    this.#options = options;
  }

  async start(
    who: LoggedIn,
    browser: { readonly address: string; readonly userAgent: string },
  ): Promise<StartedSession> {
    const { clock, newId, idleMs, lifetimeMs } = this.#options;
    const nowMs = clock.nowMs();
    const id = newId('cs');
    const cookie = `${id}.${randomBytes(32).toString('base64url')}`;
    const token = randomBytes(32).toString('base64url');
    const session: ConsoleSession = {
      id,
      revision: 0,
      cookieHash: hashToken(cookie),
      tokenHash: hashToken(token),
      who,
      createdAtMs: nowMs,
      lastUsedAtMs: nowMs,
      lifetimeMs,
      idleMs,
      address: browser.address,
      userAgent: browser.userAgent.slice(0, MAX_USER_AGENT),
    };
    await this.#put(session);
    await this.#endSurplus(who);
    return { session, cookie, token };
  }

  /** The session of a request with both secrets; null when there is none or it is over. */
  find(headers: IncomingHttpHeaders, { isUse = true } = {}): ConsoleSession | null {
    const token = headers[TOKEN_HEADER];
    if (typeof token !== 'string') return null;
    const session = this.ofCookie(headers.cookie, (found) => isSecret(token, found.tokenHash));
    if (session !== null && isUse) this.#touch(session);
    return session;
  }

  /** The session of a cookie. It proves nothing without the token. */
  ofCookie(header: string | undefined, matches: (session: ConsoleSession) => boolean): ConsoleSession | null {
    const { replica, clock, peopleSettings, localScopes } = this.#options;
    for (const cookie of cookieCandidates(header)) {
      const record = replica.get(CONSOLE_SESSION_KIND, cookie.slice(0, Math.max(0, cookie.indexOf('.'))));
      if (record === undefined) continue;
      const session = sessionOf(record);
      if (!isSecret(cookie, session.cookieHash) || !matches(session)) continue;
      if (session.who.kind === 'person' && session.who.settings !== peopleSettings) continue;
      if (session.who.kind === 'local' && String(session.who.scopes) !== String(localScopes)) continue;
      const current = isOver(session, replica, clock.nowMs()) ? null : this.#withCurrentRole(session);
      if (current !== null) return current;
    }
    return null;
  }

  /** Null: the person no longer has a role. */
  #withCurrentRole(session: ConsoleSession): ConsoleSession | null {
    const { who } = session;
    const { currentRoleOf = null } = this.#options;
    if (who.kind !== 'person' || currentRoleOf === null) return session;
    const role = currentRoleOf(who.subject);
    return role === null ? null : { ...session, who: { ...who, role } };
  }

  async end(id: string): Promise<void> {
    await this.#delete([{ kind: CONSOLE_SESSION_KIND, id }]);
  }

  /** Deletes what is over. Nothing depends on it: `find` does not accept it either. */
  async sweep(): Promise<void> {
    const { replica, clock } = this.#options;
    const nowMs = clock.nowMs();
    const over = [...replica.all(CONSOLE_SESSION_KIND)].filter((record) => isOver(sessionOf(record), replica, nowMs));
    await this.#delete(over);
  }

  async #endSurplus(who: LoggedIn): Promise<void> {
    const owner = ownerOf(who);
    const own = [...this.#options.replica.all(CONSOLE_SESSION_KIND)]
      .map(sessionOf)
      .filter((session) => ownerOf(session.who) === owner)
      .sort((one, other) => other.createdAtMs - one.createdAtMs);
    await this.#delete(own.slice(MAX_PER_OWNER).map(({ id }) => ({ kind: CONSOLE_SESSION_KIND, id })));
  }

  /** One by one: another node may have deleted some. */
  async #delete(keys: readonly RecordKey[]): Promise<void> {
    for (const { kind, id } of keys) await this.#options.store.commit({ deletes: [{ kind, id }] });
  }

  #touch(session: ConsoleSession): void {
    const nowMs = this.#options.clock.nowMs();
    const { id } = session;
    if (nowMs - session.lastUsedAtMs < TOUCH_AFTER_MS || this.#touching.has(id)) return;
    this.#touching.add(id);
    // The expected revision: a session that was ended meanwhile stays ended.
    this.#put({ ...session, lastUsedAtMs: nowMs })
      .catch((error: unknown) => this.#options.onProblem(error))
      .finally(() => this.#touching.delete(id));
  }

  /** A new one has the revision 0. */
  async #put({ id, revision, ...session }: ConsoleSession): Promise<void> {
    const key = { kind: CONSOLE_SESSION_KIND, id };
    await this.#options.store.commit({
      expect: [{ ...key, revision: revision === 0 ? 'absent' : revision }],
      puts: [{ ...key, parent: null, doc: sessionDoc(session), secrets: null, uniqueKeys: [], references: [] }],
    });
  }
}

function ownerOf(who: LoggedIn): string {
  if (who.kind === 'local') return who.name;
  return who.kind === 'key' ? who.apiKeyId : `person ${who.subject}`;
}

function isSecret(given: string, hash: string): boolean {
  return isSameSecret(hashToken(given), hash);
}

/** Starts a new session for every login: the cookie that the browser had before is invalid afterwards. */
export function startSession(
  sessions: ConsoleSessions,
  logger: Pick<Logger, 'info'>,
): (request: FastifyRequest, who: LoggedIn) => Promise<StartedSession> {
  return async (request, who) => {
    const previous = sessions.ofCookie(request.headers.cookie, () => true);
    const userAgent = request.headers['user-agent'] ?? '';
    const started = await sessions.start(who, { address: request.ip, userAgent });
    if (previous !== null) await sessions.end(previous.id);
    const { id } = started.session;
    logger.info({ session_id: id, kind: who.kind, address: request.ip }, 'logged in to the console');
    return started;
  };
}

/** Who acts in a session, and with which scopes. `all`: every scope that an API key can have. */
export function principalOf({ id, who }: ConsoleSession, all: readonly string[]): Principal {
  if (who.kind === 'key') return { apiKeyId: who.apiKeyId, scopes: who.scopes };
  if (who.kind === 'local') return { apiKeyId: who.name, scopes: who.scopes };
  return {
    apiKeyId: id,
    person: who.name,
    identity: { issuer: who.issuer, subject: who.subject },
    scopes: isRole(who.role) ? scopesOfRole(who.role, all) : [],
  };
}

/** What the page learns about its session. */
export function sessionView(session: ConsoleSession, all: readonly string[]): JsonObject {
  const { who } = session;
  return {
    id: session.id,
    expires_at: rfc3339(endsAtMs(session)),
    who: { name: who.name, kind: who.kind },
    scopes: principalOf(session, all).scopes,
    ...(who.kind === 'person' && { role: who.role }),
  };
}
