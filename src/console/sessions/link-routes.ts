import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Authenticate } from '../../api/authentication.ts';
import { ignoreContentType } from '../../api/body-parsers.ts';
import type { FailedAuthenticationDelay } from '../../api/failed-authentication-delay.ts';
import { PosternError } from '../../lib/errors.ts';
import type { Replica } from '../../replica/replica.ts';
import { keyName, type SignedIn } from '../../resources/console-session-record.ts';
import { consoleErrors } from '../errors.ts';
import { sendErrorPage } from '../serving/error-page.ts';
import { checkOwnName, type OwnAddress } from './browser-origin.ts';
import type { StartedSession } from './console-sessions.ts';
import { sessionCookie } from './session-cookie.ts';
import type { SignInLinks } from './sign-in-links.ts';

export interface LinkRoutesOptions {
  readonly links: SignInLinks;
  readonly own: OwnAddress;
  readonly replica: Pick<Replica, 'get'>;
  readonly authenticate: Authenticate;
  readonly delay: FailedAuthenticationDelay;
  startSession(request: FastifyRequest, who: SignedIn): Promise<StartedSession>;
}

/** An API key makes a link, and a browser that opens it is signed in with the rights of the key. */
export function addLinkRoutes(app: FastifyInstance, options: LinkRoutesOptions): void {
  const { links, own, replica, delay } = options;
  app.post('/console/links', { onRequest: ignoreContentType }, async (request, reply) => {
    const { headers, ip, method } = request;
    // Not a session: one that was stolen must not outlive its end.
    const { authorization } = headers;
    const attempt = { headers: authorization === undefined ? {} : { authorization }, ip, method };
    const { apiKeyId, scopes } = (await options.authenticate(attempt)).principal;
    const { code, expiresAt } = links.make({ kind: 'key', name: keyName(apiKeyId, replica), apiKeyId, scopes });
    return reply.code(201).send({ path: `/console/enter?link=${code}`, expires_at: expiresAt });
  });
  app.get('/console/enter', async (request, reply) => {
    try {
      const [page, base] = [checkOwnName(request, own), new URL(own.baseUrl)];
      // A proxy in front may speak TLS where the listener does not.
      const origin = page.host === base.host ? base : page;
      // A page of another site could sign a visitor in with rights that the visitor does not expect.
      const site = request.headers['sec-fetch-site'];
      if (site !== undefined && site !== 'none' && site !== 'same-origin') throw unusable();
      const { link } = request.query as { readonly link?: unknown };
      const who = (typeof link === 'string' ? links.take(link) : null) ?? unknown();
      const { cookie, token } = await options.startSession(request, who);
      return await reply
        .headers({ 'set-cookie': sessionCookie(origin, cookie), 'referrer-policy': 'no-referrer' })
        .redirect(`/console/#token=${token}`, 302);
    } catch (error) {
      if (!(error instanceof PosternError)) throw error;
      await delay.wait(request.ip);
      return sendErrorPage(reply, error, {
        title: 'Sign-in failed',
        link: { href: '/console', text: 'Back to the console' },
      });
    }
  });
}

function unknown(): never {
  throw unusable();
}

function unusable(): Error {
  return consoleErrors.create(
    'ERR_POSTERN_CONSOLE_LINK',
    'this link has been used, is older than ten minutes, or was opened from another site: run "postern open" again and paste the new link into the address bar',
  );
}
