import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { IdentityPage } from '../../src/identity/contracts/identity-host.ts';
import type { IdentityPeople } from '../../src/identity/contracts/identity-people.ts';
import type { IdentitySessions } from '../../src/identity/contracts/identity-sessions.ts';
import { accountRoutes } from '../../src/identity/pages/account/account-routes.ts';
import { consentRoutes } from '../../src/identity/pages/consent/consent-routes.ts';
import type { PagePorts } from '../../src/identity/pages/page-ports.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { firstValue } from '../../src/lib/http/header-list.ts';
import type { Cleanup } from '../support/cleanup.ts';
import { CookieJar } from '../support/cookie-jar.ts';
import type { AskOptions, EdgeAnswer } from '../support/edge-clients.ts';
import { EdgeWorld, type Site } from '../support/edge-world.ts';
import type { WorldOptions } from '../support/test-world.ts';

export const IDENTITY_HOST = 'id.localhost';
export const IDENTITY_ISSUER = `https://${IDENTITY_HOST}`;

const PARTY = { origin: IDENTITY_ISSUER, hostname: IDENTITY_HOST };
const PEOPLE = {
  account: (id) => ({ id, email: 'somebody@example.com', name: '', isActive: true }),
  passkeysOf: () => [],
  hasConsoleRole: () => false,
} as Partial<IdentityPeople> as IdentityPeople;
const randomText = (bytes: number): string => randomBytes(bytes).toString('base64url');

/** A page that signs in whom its form names: what a passkey proves is tested elsewhere. The pages about agents and
 * about the own account are ours. */
export function pagesWithoutProof(sessions: IdentitySessions): readonly IdentityPage[] {
  return [
    {
      method: 'POST',
      path: '/sign-in/test',
      serve: async (request) => {
        const waiting = await sessions.interactionOf(request);
        const accountId = request.body.toString('utf8');
        const amr = firstValue(request.headers, 'x-proof') === 'otp' ? 'otp' : 'pop';
        return sessions.signIn(request, { accountId, amr, interactionId: waiting?.id ?? null, to: '/account' });
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

/** The whole server with its identity host, and an upstream that echoes requests and streams on `/stream`. */
export class IdentityWorld {
  readonly edge: EdgeWorld;
  readonly #upstream: Server;

  private constructor(edge: EdgeWorld, upstream: Server) {
    this.edge = edge;
    this.#upstream = upstream;
  }

  static async open(
    test: Cleanup,
    options: Omit<WorldOptions, 'env'> & { readonly env?: Readonly<Record<string, string>> } = {},
  ): Promise<IdentityWorld> {
    const { env, ...rest } = options;
    const upstream = await openUpstream(test);
    const edge = await EdgeWorld.open(
      test,
      { POSTERN_IDENTITY_HOST: IDENTITY_HOST, ...env },
      { identityPages: pagesWithoutProof, ...rest },
    );
    return new IdentityWorld(edge, upstream);
  }

  /** Where the upstream listens. */
  get upstream(): string {
    return `127.0.0.1:${(this.#upstream.address() as AddressInfo).port}`;
  }

  /** A site whose route logs people in here. */
  async site(fields: Readonly<Record<string, unknown>> = {}): Promise<Site> {
    const site = await this.edge.site(await this.edge.staticBackend(this.upstream));
    await this.edge.api('PUT', `${site.routePath}/oidc`, { issuer: IDENTITY_ISSUER, ...fields });
    return site;
  }

  async person(email: string, groups: readonly string[] = []): Promise<string> {
    const { id } = await this.edge.api('POST', '/user_accounts', { email, name: email, groups });
    return id;
  }

  /** `clients`: other than those of HTTP/1.1. */
  browser(clients: Pick<EdgeWorld, 'ask'> = this.edge): HostBrowser {
    return new HostBrowser(clients);
  }
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
        const signIn = new URL(`/sign-in/test${next.search}`, next);
        const { headers } = await this.ask(signIn, { method: 'POST', body: accountId });
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

async function openUpstream(test: Cleanup): Promise<Server> {
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'application/json');
    if (request.url !== '/stream') {
      response.end(JSON.stringify({ url: request.url, headers: request.headers }));
      return;
    }
    response.flushHeaders();
    const timer = setInterval(() => response.write('{"tick":1}\n'), 100);
    response.once('close', () => clearInterval(timer));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  test.after(async () => {
    server.closeAllConnections();
    server.close();
  });
  return server;
}
