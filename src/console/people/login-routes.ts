import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { FailedAuthenticationDelay } from '../../api/authentication.ts';
import { PosternError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { SignedIn } from '../../resources/console-session-record.ts';
import { consoleErrors } from '../errors.ts';
import type { Role } from '../roles.ts';
import { sendErrorPage } from '../serving/error-page.ts';
import type { StartedSession } from '../sessions/console-sessions.ts';
import { sessionCookie } from '../sessions/session-cookie.ts';
import type { LoginFlows } from './login-flow.ts';
import type { PeopleProvider } from './people-provider.ts';
import { personName } from './person-name.ts';

/** How people log in; null: with API keys only. */
export interface People {
  readonly provider: PeopleProvider;
  readonly issuer: string;
  /** Null: no rule gives this person a role. */
  roleOf(claims: JsonObject): Role | null;
  /** Sessions end when it changes: issuer, client and rules. */
  readonly fingerprint: string;
  /** Their role now, for people who are known without asking the provider; null: the role at the login stays. */
  readonly currentRoleOf: ((subject: string) => Role | null) | null;
}

export interface LoginRoutesOptions {
  readonly people: People | null;
  readonly flows: LoginFlows;
  readonly baseUrl: string;
  readonly delay: FailedAuthenticationDelay;
  startSession(request: FastifyRequest, who: SignedIn): Promise<StartedSession>;
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
      const who = await signedIn(request, people ?? noProvider(), flows);
      const { cookie, token } = await options.startSession(request, who);
      const cookies = [flows.endedCookie, sessionCookie(new URL(options.baseUrl), cookie)];
      // A fragment reaches no server and no log; the page removes it from the address.
      return reply
        .headers({ 'set-cookie': cookies, 'referrer-policy': 'no-referrer' })
        .redirect(`/console/#token=${token}`, 302);
    }),
  );
}

async function signedIn(request: FastifyRequest, people: People, flows: LoginFlows): Promise<SignedIn> {
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
