import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Clock } from '../../kit/clock.ts';
import { type LiveSources, LiveStreams } from '../../proxy/telemetry/live/live-streams.ts';
import type { Replica } from '../../store/replica/replica.ts';
import type { Store } from '../../store/store.ts';
import {
  type AuthenticationAttempt,
  type Caller,
  callerOf,
  FailedAuthenticationDelay,
  type FindPrincipal,
} from '../api/authentication.ts';
import type { ApiExtension } from '../api/served-paths.ts';
import { type ConsoleSession, concernsSessions } from '../resources/console-session-record.ts';
import { addLiveRoutes, type LiveRoutesOptions } from './live-routes.ts';
import { addLoginRoutes, LoginFlows, type People } from './login-routes.ts';
import { addPageRoutes, ConsoleFiles, pageUrl } from './pages.ts';
import { ConsoleSessions, principalOf, sessionView, startSession, TOKEN_HEADER } from './sessions/console-sessions.ts';
import { addLinkRoutes, LoginLinks } from './sessions/login-links.ts';
import { addSessionRoutes, checkBrowserOrigin, type OwnAddress, sessionOver } from './sessions/session-routes.ts';

const SWEEP_EVERY_MS = 10 * 60_000;
const PATHS = [
  { method: 'GET', path: '/console' },
  { method: 'GET', path: '/console/callback' },
  { method: 'GET', path: '/console/config' },
  { method: 'GET', path: '/console/enter' },
  { method: 'POST', path: '/console/links' },
  { method: 'GET', path: '/console/login' },
  { method: 'GET', path: '/live' },
  { method: 'GET', path: '/console/session' },
  { method: 'POST', path: '/console/session' },
  { method: 'DELETE', path: '/console/session' },
];

export interface ConsoleOptions {
  readonly store: Store;
  readonly replica: Replica;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly own: OwnAddress;
  readonly version: string;
  readonly newId: (prefix: string) => string;
  /** Every scope that an API key can have. */
  readonly scopes: readonly string[];
  readonly idleSeconds: number;
  readonly lifetimeSeconds: number;
  /** Null: there is no GET /live. */
  readonly live: LiveSources | null;
  readonly findKey: FindPrincipal;
  /** See `ConsoleSessionsOptions`. */
  readonly localScopes: readonly string[] | null;
  /** See `SearchPort.callers`. */
  readonly searchedWords: LiveRoutesOptions['searchedWords'];
  /** False: a key or a session may have been revoked at another node. */
  readonly isCurrent: () => boolean;
  /** Null: login with API keys only. */
  readonly people: People | null;
  /** Issuer of this server's identity host; null: it has none. */
  readonly identityIssuer: string | null;
}

export interface OpenedConsole {
  readonly extension: ApiExtension;
  /** The caller of a request with a session; null when it has no token of one. Throws when the session is not valid. */
  findSession(attempt: AuthenticationAttempt): Caller | null;
  /** Ends the live views. */
  endStreams(): void;
  close(): void;
}

/** Everything below /console. */
export function openConsole(options: ConsoleOptions): OpenedConsole {
  const { store, replica, clock, logger, own, scopes, version, people, identityIssuer, searchedWords } = options;
  const passkeys = people !== null && people.issuer === identityIssuer;
  const files = new ConsoleFiles();
  const sessions = new ConsoleSessions({
    ...options,
    idleMs: options.idleSeconds * 1000,
    lifetimeMs: options.lifetimeSeconds * 1000,
    peopleSettings: people?.fingerprint ?? null,
    currentRoleOf: people?.currentRoleOf ?? null,
    onProblem: (err) => logger.warn({ err }, 'failed to record the use of a console session'),
  });
  const streams = options.live === null ? null : new LiveStreams(options.live);
  /** Without an effect: a live view that stays open does not keep its session in use. */
  const again = ({ headers }: AuthenticationAttempt): Caller | null => {
    if (!options.isCurrent()) return null;
    if (headers.authorization !== undefined) return keyOf(headers.authorization, options.findKey);
    const session = sessions.find(headers, { isUse: false });
    return session === null ? null : { principal: principalOf(session, scopes), token: '' };
  };
  const sweep = (): void => {
    sessions.sweep().catch((err: unknown) => logger.warn({ err }, 'failed to delete ended console sessions'));
  };
  const timer = setInterval(sweep, SWEEP_EVERY_MS).unref();
  const unfollow = replica.onChange((changes) => {
    if (concernsSessions(changes)) sweep();
  });
  return {
    extension: {
      paths: PATHS,
      rewriteUrl: pageUrl,
      addRoutes: (app, { authenticate }) => {
        addPageRoutes(app, files);
        const begin = startSession(sessions, logger);
        const view = (session: ConsoleSession) => ({
          ...sessionView(session, scopes),
          identity_issuer: identityIssuer,
        });
        addSessionRoutes(app, { sessions, replica, own, view, authenticate, startSession: begin });
        const delay = new FailedAuthenticationDelay(clock, (ms) => sleep(ms, undefined, { ref: false }));
        const links = new LoginLinks(clock);
        addLinkRoutes(app, { links, own, replica, authenticate, delay, startSession: begin });
        addLoginRoutes(app, {
          people,
          flows: new LoginFlows(store, clock, own.baseUrl),
          baseUrl: own.baseUrl,
          delay,
          startSession: begin,
        });
        if (streams !== null) addLiveRoutes(app, { streams, authenticate, again, searchedWords });
        app.get('/console/config', (_request, reply) =>
          reply
            .type('application/json; charset=utf-8')
            .send(JSON.stringify({ oidc: people !== null, passkeys, version, base_url: own.baseUrl })),
        );
      },
    },
    endStreams: () => streams?.close(),
    findSession: (attempt) => {
      const token = attempt.headers[TOKEN_HEADER];
      if (typeof token !== 'string') return null;
      checkBrowserOrigin(attempt, own);
      const session = sessions.find(attempt.headers) ?? sessionOver();
      return { principal: principalOf(session, scopes), token };
    },
    close: () => {
      clearInterval(timer);
      unfollow();
    },
  };
}

function keyOf(authorization: string, find: FindPrincipal): Caller | null {
  try {
    return callerOf(authorization, find);
  } catch {
    return null;
  }
}
