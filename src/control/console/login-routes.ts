import { randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../kit/clock.ts';
import { PosternError } from '../../kit/errors.ts';
import { cookieValues } from '../../kit/http/cookie-header.ts';
import type { JsonObject } from '../../kit/json.ts';
import { isEmailVerified } from '../../kit/text/email-address.ts';
import type { Store } from '../../store/store.ts';
import type { FailedAuthenticationDelay } from '../api/authentication.ts';
import type { LoggedIn } from '../resources/console-session-record.ts';
import { consoleErrors } from './errors.ts';
import { sendErrorPage } from './pages.ts';
import type { Role } from './roles.ts';
import { type StartedSession, sessionCookie } from './sessions/console-sessions.ts';

/** How people log in; null: with API keys only. */
export interface People {
  readonly provider: PeopleProvider;
  readonly issuer: string;
  /** Null: no rule gives this person a role. */
  roleOf(claims: JsonObject): Role | null;
  /** Sessions end when it changes: issuer, client and rules. */
  readonly fingerprint: string;
  /** A person's role now, for people who are known without asking the provider; null: the role at the login stays. */
  readonly currentRoleOf: ((subject: string) => Role | null) | null;
}

interface LoginRoutesOptions {
  readonly people: People | null;
  readonly flows: LoginFlows;
  readonly baseUrl: string;
  readonly delay: FailedAuthenticationDelay;
  startSession(request: FastifyRequest, who: LoggedIn): Promise<StartedSession>;
}

/** Login with OpenID Connect. A browser visits both addresses, so failures are pages. */
export function addLoginRoutes(app: FastifyInstance, options: LoginRoutesOptions): void {
  const { people, flows } = options;
  app.get('/console/login', (request, reply) =>
    withErrorPage(request, reply, options, async () => {
      const { provider } = people ?? noProvider();
      const { start, cookie } = flows.start();
      const url = await provider.authorizationUrl(start);
      return reply.header('set-cookie', cookie).redirect(url.href, 302);
    }),
  );
  app.get('/console/callback', (request, reply) =>
    withErrorPage(request, reply, options, async () => {
      const who = await loggedIn(request, people ?? noProvider(), flows);
      const { cookie, token } = await options.startSession(request, who);
      const cookies = [flows.endedCookie, sessionCookie(new URL(options.baseUrl), cookie)];
      // A fragment reaches no server and no log; the page removes it from the address.
      return reply
        .headers({ 'set-cookie': cookies, 'referrer-policy': 'no-referrer' })
        .redirect(`/console/#token=${token}`, 302);
    }),
  );
}

async function loggedIn(request: FastifyRequest, people: People, flows: LoginFlows): Promise<LoggedIn> {
  const callbackUrl = new URL(request.url, 'http://localhost');
  const start = flows.ofCallback(request.headers.cookie, callbackUrl.searchParams.get('state'));
  const { subject, claims, sid } = await people.provider.exchange({ ...start, callbackUrl });
  const role = people.roleOf(claims);
  if (role !== null)
    return {
      kind: 'person',
      name: personName(claims, subject),
      subject,
      issuer: people.issuer,
      providerSessionId: sid,
      role,
      settings: people.fingerprint,
    };
  throw consoleErrors.create(
    'ERR_POSTERN_CONSOLE_NO_ROLE',
    'your login has no role in this console: ask its administrator to add a rule for it to console_roles',
  );
}

async function withErrorPage(
  request: FastifyRequest,
  reply: FastifyReply,
  { flows, delay }: LoginRoutesOptions,
  answer: () => Promise<FastifyReply>,
): Promise<FastifyReply> {
  try {
    return await answer();
  } catch (error) {
    if (!(error instanceof PosternError)) throw error;
    // Each attempt may cost a request to the provider.
    await delay.wait(request.ip);
    return sendErrorPage(reply.header('set-cookie', flows.endedCookie), error, {
      title: 'Login failed',
      link: { href: '/console', text: 'Back to the console' },
    });
  }
}

function noProvider(): never {
  throw consoleErrors.create(
    'ERR_POSTERN_CONSOLE_NO_PROVIDER',
    'this server has no OpenID provider for the console: log in with an API key, or set console_oidc_issuer',
  );
}

const MAX_AGE_SECONDS = 600;
const NAME = 'postern_console_login';

interface Flow extends LoginStart {
  readonly startedAtMs: number;
}

/** A login in progress, sealed in the browser: a stranger who starts many costs the server nothing. */
export class LoginFlows {
  readonly #store: Pick<Store, 'seal' | 'open'>;
  readonly #clock: Clock;
  readonly #redirectUri: string;
  readonly #isSecure: boolean;

  constructor(store: Pick<Store, 'seal' | 'open'>, clock: Clock, baseUrl: string) {
    this.#store = store;
    this.#clock = clock;
    this.#redirectUri = `${baseUrl}/console/callback`;
    this.#isSecure = baseUrl.startsWith('https:');
  }

  start(): { readonly start: LoginStart; readonly cookie: string } {
    const text = (): string => randomBytes(32).toString('base64url');
    const start = { redirectUri: this.#redirectUri, state: text(), nonce: text(), codeVerifier: text() };
    const flow: Flow = { ...start, startedAtMs: this.#clock.nowMs() };
    const sealed = this.#store.seal('console-login', JSON.stringify(flow));
    return { start, cookie: this.#cookie(sealed, MAX_AGE_SECONDS) };
  }

  /** The login that a callback belongs to: started in this browser, and not long ago. */
  ofCallback(cookies: string | undefined, state: string | null): LoginStart {
    for (const value of cookieValues(cookies === undefined ? [] : [cookies], this.#name)) {
      const text = this.#store.open('console-login', value);
      const flow = text === null ? null : (JSON.parse(text) as Flow);
      if (flow === null || flow.state !== state) continue;
      if (this.#clock.nowMs() - flow.startedAtMs <= MAX_AGE_SECONDS * 1000) return flow;
    }
    throw consoleErrors.create(
      'ERR_POSTERN_CONSOLE_LOGIN',
      'this login was not started in this browser, or more than ten minutes ago: log in again',
    );
  }

  get endedCookie(): string {
    return this.#cookie('', 0);
  }

  get #name(): string {
    return this.#isSecure ? `__Host-${NAME}` : NAME;
  }

  /** Lax: the provider's redirect comes from another site. */
  #cookie(value: string, maxAgeSeconds: number): string {
    const secure = this.#isSecure ? '; Secure' : '';
    return `${this.#name}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax${secure}`;
  }
}

interface LoginStart {
  readonly redirectUri: string;
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/** The provider at which people log in. Failures are PosternErrors that may be shown; the log has the details. */
interface PeopleProvider {
  authorizationUrl(start: LoginStart): Promise<URL>;
  /** `callbackUrl`: with the browser's query. */
  exchange(callback: LoginStart & { readonly callbackUrl: URL }): Promise<{
    readonly subject: string;
    readonly claims: JsonObject;
    /** The provider's session, if it names one. */
    readonly sid: string | null;
  }>;
}

const MAX_EMAIL = 320;
const MAX_PART = 100;

/**
 * Name of a person in sessions and in the history: the verified email address. At many providers people choose the name
 * claim themselves, and some choose the address of another person, so such a name is marked and has the subject beside
 * it.
 */
export function personName(claims: JsonObject, subject: string): string {
  const { email, name } = claims;
  if (isEmailVerified(claims) && typeof email === 'string' && email !== '') return email.slice(0, MAX_EMAIL);
  const whom = `subject ${visible(subject)}`;
  return typeof name === 'string' && name !== '' ? `unverified "${visible(name)}" (${whom})` : whom;
}

/** Without characters that hide or reorder others, and without the quote that ends the name. */
function visible(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}"]/gu, '').slice(0, MAX_PART);
}
