import { randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../../kit/clock.ts';
import { PosternError } from '../../../kit/errors.ts';
import { escapedHtml } from '../../../kit/http/plain-page.ts';
import { hashToken, isSameSecret, newCode, shownCode, typedCode } from '../../../kit/text/secrets.ts';
import type { Replica } from '../../../store/replica/replica.ts';
import type { Authenticate, FailedAuthenticationDelay } from '../../api/authentication.ts';
import { ignoreContentType } from '../../api/request-parts.ts';
import { keyName, type LoggedIn } from '../../resources/console-session-record.ts';
import { LOCAL_CALLER } from '../../resources/operation.ts';
import { consoleErrors } from '../errors.ts';
import { sendErrorPage, sendPage } from '../pages.ts';
import { type StartedSession, sessionCookie } from './console-sessions.ts';
import { checkOwnName, type OwnAddress } from './session-routes.ts';

/** Long enough to open another terminal for ssh. */
const LIFETIME_MS = 10 * 60_000;
/** The oldest ends: a key that makes links over and over must not fill the memory. */
const MAX_LINKS = 100;

/** Wrong codes, after which the link ends. */
const MAX_TRIES = 5;

interface Link {
  readonly who: LoggedIn;
  readonly endsAtMs: number;
  readonly codeHash: string;
  tries: number;
}

interface MadeLink {
  readonly id: string;
  /** As people read it. */
  readonly code: string;
  readonly expiresAt: string;
}

/**
 * Links that log somebody in to the console, once, with the rights of the API key that made them. Every user of a
 * machine can read the arguments of a browser that somebody else starts, so a link alone opens a page that asks for its
 * code, which the terminal shows. Links are kept as hashes in the memory of this process: a link is opened at once, at
 * the address for which it was made.
 */
export class LoginLinks {
  readonly #clock: Clock;
  readonly #links = new Map<string, Link>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  make(who: LoggedIn): MadeLink {
    const [id, code] = [`postern_cl_${randomBytes(32).toString('base64url')}`, newCode()];
    const endsAtMs = this.#clock.nowMs() + LIFETIME_MS;
    this.#links.set(hashToken(id), { who, endsAtMs, codeHash: codeHash(id, code), tries: 0 });
    for (const hash of this.#links.keys()) {
      if (this.#links.size <= MAX_LINKS) break;
      this.#links.delete(hash);
    }
    return { id, code: shownCode(code), expiresAt: new Date(endsAtMs).toISOString() };
  }

  /** Whether a code may still be typed: the link is known, not used, and not too old. */
  isOpen(id: string): boolean {
    const link = this.#links.get(hashToken(id));
    return link !== undefined && link.endsAtMs > this.#clock.nowMs();
  }

  /** Null: the code is wrong, or the link is not open. */
  take(id: string, typed: string): LoggedIn | null {
    const link = this.#links.get(hashToken(id));
    if (link === undefined || !this.isOpen(id)) return null;
    const isRight = isSameSecret(codeHash(id, typedCode(typed)), link.codeHash);
    link.tries += 1;
    if (isRight || link.tries >= MAX_TRIES) this.#links.delete(hashToken(id));
    return isRight ? link.who : null;
  }
}

/** With the id, so that a code is only good for its link. */
function codeHash(id: string, code: string): string {
  return hashToken(`${id} ${code}`);
}

interface LinkRoutesOptions {
  readonly links: LoginLinks;
  readonly own: OwnAddress;
  readonly replica: Pick<Replica, 'get'>;
  readonly authenticate: Authenticate;
  readonly delay: FailedAuthenticationDelay;
  startSession(request: FastifyRequest, who: LoggedIn): Promise<StartedSession>;
}

/** An API key, or a command on this machine, makes a link, and a browser that opens it is logged in with its rights. */
export function addLinkRoutes(app: FastifyInstance, options: LinkRoutesOptions): void {
  const { links, own, replica, delay } = options;
  app.post('/console/links', { onRequest: ignoreContentType }, async (request, reply) => {
    const { headers, ip, method } = request;
    // Not a session: one that was stolen must not outlive its end.
    const { authorization } = headers;
    const attempt = { headers: authorization === undefined ? {} : { authorization }, ip, method };
    const { apiKeyId, scopes } = (await options.authenticate(attempt)).principal;
    const who: LoggedIn = apiKeyId.startsWith(LOCAL_CALLER)
      ? { kind: 'local', name: apiKeyId, scopes }
      : { kind: 'key', name: keyName(apiKeyId, replica), apiKeyId, scopes };
    const { id, code, expiresAt } = links.make(who);
    return reply.code(201).send({ path: `/console/enter?link=${id}`, code, expires_at: expiresAt, name: who.name });
  });
  app.get('/console/enter', async (request, reply) => {
    try {
      const [page, base] = [checkOwnName(request, own), new URL(own.baseUrl)];
      // A proxy in front may speak TLS where the listener does not.
      const origin = page.host === base.host ? base : page;
      // A page of another site could log a visitor in with rights that the visitor does not expect.
      const site = request.headers['sec-fetch-site'];
      if (site !== undefined && site !== 'none' && site !== 'same-origin') throw unusable();
      const { link, code } = request.query as { readonly link?: unknown; readonly code?: unknown };
      if (typeof link !== 'string' || !links.isOpen(link)) throw unusable();
      if (typeof code !== 'string') return await sendCodePage(reply, link, 200);
      const who = links.take(link, code);
      if (who === null) {
        await delay.wait(request.ip);
        if (!links.isOpen(link)) throw unusable();
        return await sendCodePage(reply, link, 403);
      }
      const { cookie, token } = await options.startSession(request, who);
      return await reply
        .headers({ 'set-cookie': sessionCookie(origin, cookie), 'referrer-policy': 'no-referrer' })
        .redirect(`/console/#token=${token}`, 302);
    } catch (error) {
      if (!(error instanceof PosternError)) throw error;
      await delay.wait(request.ip);
      return sendErrorPage(reply, error, {
        title: 'Login failed',
        link: { href: '/console', text: 'Back to the console' },
      });
    }
  });
}

/** A form with GET: whatever reads the address learns a code that was used. */
function sendCodePage(reply: FastifyReply, link: string, status: 200 | 403): FastifyReply {
  const wrong = status === 200 ? '' : '<p role="alert"><strong>This code is not right.</strong></p>';
  const body = `${wrong}<form action="/console/enter" autocomplete="off">
<input type="hidden" name="link" value="${escapedHtml(link)}">
<p><label for="code">Type the code that the terminal shows:</label></p>
<p><input id="code" name="code" required autofocus maxlength="20" autocapitalize="characters" spellcheck="false" size="12"></p>
<p><button class="button">Log in</button></p></form>`;
  return sendPage(reply.code(status), { title: 'Log in to the console', body }, { hasForm: true });
}

function unusable(): Error {
  return consoleErrors.create(
    'ERR_POSTERN_CONSOLE_LINK',
    'this link has been used, is older than ten minutes, had five wrong codes, or was opened from another site: run "postern open" again',
  );
}
