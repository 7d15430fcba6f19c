import { randomBytes } from 'node:crypto';
import type { IdentityPage, IdentityPeople, IdentitySessions } from '../../src/control/identity/contracts.ts';
import { accountRoutes } from '../../src/control/identity/pages/account-routes.ts';
import { consentRoutes } from '../../src/control/identity/pages/consent-routes.ts';
import type { PagePorts } from '../../src/control/identity/pages/page-ports.ts';
import { systemClock } from '../../src/kit/clock.ts';
import { firstValue } from '../../src/kit/http/header-values.ts';
import type { Cleanup } from '../support/cleanup.ts';
import { CookieJar } from '../support/cookie-jar.ts';
import type { AskOptions, EdgeAnswer } from '../support/edge-clients.ts';
import type { EdgeWorld } from '../support/edge-world.ts';
import { IdentityWorld, type IdentityWorldOptions } from '../support/identity-world.ts';

/** Beside the names of sites and agents, so that wildcards for those cover it. */
export const IDENTITY_HOST = 'id.localhost';
export const IDENTITY_ISSUER = `https://${IDENTITY_HOST}`;

const PARTY = { origin: IDENTITY_ISSUER, hostname: IDENTITY_HOST };
const PEOPLE = {
  account: (id) => ({ id, email: 'somebody@example.com', name: '', isActive: true }),
  passkeysOf: () => [],
  hasConsoleRole: () => false,
} as Partial<IdentityPeople> as IdentityPeople;
const randomText = (bytes: number): string => randomBytes(bytes).toString('base64url');

/** A page that logs in whom its form names: what a passkey proves is tested elsewhere. The pages about agents and
 * about the own account are ours. */
function pagesWithoutProof(sessions: IdentitySessions): readonly IdentityPage[] {
  return [
    {
      method: 'POST',
      path: '/sign-in/test',
      serve: async (request) => {
        const waiting = await sessions.interactionOf(request);
        const accountId = request.body.toString('utf8');
        const amr = firstValue(request.headers, 'x-proof') === 'otp' ? 'otp' : 'pop';
        return sessions.logIn(request, {
          ...{ accountId, amr, passkeyId: null, to: '/account' },
          interactionId: waiting?.id ?? null,
        });
      },
    },
    ...consentRoutes({
      sessions,
      party: PARTY,
      people: { account: () => undefined } as Partial<IdentityPeople> as IdentityPeople,
      randomText,
    }),
    ...accountRoutes({ sessions, party: PARTY, people: PEOPLE, randomText, clock: systemClock } as PagePorts),
  ];
}

/** A server at whose identity host a name is proof enough. */
export function openWithoutProof(test: Cleanup, options: IdentityWorldOptions = {}): Promise<IdentityWorld> {
  const own = { host: IDENTITY_HOST, identityPages: pagesWithoutProof, isClockMovable: false };
  return IdentityWorld.open(test, { ...own, ...options });
}

/** A browser that follows redirects over all hosts of the edge. */
export class HostBrowser {
  readonly jar: CookieJar;
  readonly #edge: Pick<EdgeWorld, 'ask'>;

  constructor(edge: Pick<EdgeWorld, 'ask'>, jar = new CookieJar()) {
    this.#edge = edge;
    this.jar = jar;
  }

  /** The same browser at another node. */
  at(edge: Pick<EdgeWorld, 'ask'>): HostBrowser {
    return new HostBrowser(edge, this.jar);
  }

  async ask(url: string | URL, options: AskOptions = {}): Promise<EdgeAnswer> {
    const { host, hostname, pathname, search, href } = new URL(url);
    const cookie = this.jar.header(href);
    const answer = await this.#edge.ask(hostname, `${pathname}${search}`, {
      ...options,
      headers: {
        host,
        accept: 'text/html',
        'sec-fetch-mode': 'navigate',
        ...(cookie !== undefined && { cookie }),
        ...(options.headers as Readonly<Record<string, string>>),
      },
    });
    this.jar.store(href, answer.headers['set-cookie']);
    return answer;
  }

  /** As a form of one of the pages of the identity host. */
  submit(path: string, fields: Readonly<Record<string, string>>): Promise<EdgeAnswer> {
    return this.ask(`${IDENTITY_ISSUER}${path}`, {
      method: 'POST',
      body: new URLSearchParams(fields).toString(),
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        origin: IDENTITY_ISSUER,
        'sec-fetch-site': 'same-origin',
      },
    });
  }

  /** Opens a page, and proves to be this person where a proof is asked for. Null: it must not be. */
  async open(url: string | URL, accountId: string | null): Promise<EdgeAnswer & { readonly url: URL }> {
    let next = new URL(url);
    for (let step = 0; step < 15; step += 1) {
      if (next.hostname === IDENTITY_HOST && next.pathname === '/sign-in') {
        if (accountId === null) throw new Error('a proof is asked for');
        const logIn = new URL(`/sign-in/test${next.search}`, next);
        const { headers } = await this.ask(logIn, { method: 'POST', body: accountId });
        next = new URL(String(headers['location']), next);
        continue;
      }
      const answer = await this.ask(next);
      const go = /<a class="button" id="go" href="([^"]+)"/.exec(answer.text)?.[1]?.replaceAll('&amp;', '&');
      const location = go ?? (answer.headers['location'] as string | undefined);
      if (location === undefined) return { ...answer, url: next };
      next = new URL(location, next);
    }
    throw new Error(`the redirects do not end: ${next.href}`);
  }
}
