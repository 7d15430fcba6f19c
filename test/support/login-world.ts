import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../../src/kit/clock.ts';
import type { IdentityProviderOptions, RunningIdentityProvider } from '../../tools/dev-idp/create-identity-provider.ts';
import type { Cleanup } from './cleanup.ts';
import { CookieJar } from './cookie-jar.ts';
import type { AskOptions, EdgeAnswer, EdgeClients } from './edge-clients.ts';
import { EdgeWorld, type Site } from './edge-world.ts';
import { IdentityProvider, logIn } from './identity-provider.ts';
import type { WorldOptions } from './test-world.ts';

export class MovableClock implements Clock {
  /** In shared memory, so that every thread of the server has this clock. */
  readonly sharedOffset = new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT);
  readonly #offset = new Float64Array(this.sharedOffset);

  get #offsetMs(): number {
    return this.#offset[0] ?? 0;
  }

  set #offsetMs(ms: number) {
    this.#offset[0] = ms;
  }

  nowMs(): number {
    return Date.now() + this.#offsetMs;
  }

  advance(seconds: number): void {
    this.#offsetMs += seconds * 1000;
  }

  /** The provider's clock does not move: a login after a large step back or forth has an ID token of another day. */
  reset(): void {
    this.#offsetMs = 0;
  }
}

export const CLIENT_ID = 'shop';
export const CLIENT_SECRET = 'shop-secret-0123456789';

/** What the upstream saw. */
export interface Seen {
  readonly url: string;
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
}

export interface LoginWorldOptions extends Omit<WorldOptions, 'env'> {
  readonly env?: Readonly<Record<string, string>>;
  readonly provider?: IdentityProviderOptions;
}

/** The server with an edge, a real OpenID provider, and an upstream that echoes its requests. */
export class LoginWorld {
  readonly edge: EdgeWorld;
  readonly provider: RunningIdentityProvider;
  readonly clock: MovableClock;
  readonly upstream: Server;
  readonly #hosts = new Set<string>();

  private constructor(edge: EdgeWorld, provider: RunningIdentityProvider, clock: MovableClock, upstream: Server) {
    this.edge = edge;
    this.provider = provider;
    this.clock = clock;
    this.upstream = upstream;
  }

  static async open(test: Cleanup, options: LoginWorldOptions = {}): Promise<LoginWorld> {
    const clock = new MovableClock();
    const { env, provider: providerOptions, ...worldOptions } = options;
    const provider = await IdentityProvider.open(test, providerOptions);
    const upstream = await openUpstream(test);
    const edge = await EdgeWorld.open(test, env, { clock, ...worldOptions });
    return new LoginWorld(edge, provider, clock, upstream);
  }

  /** The same provider and upstream, with another process's edge. */
  servedBy(edge: EdgeWorld): LoginWorld {
    return new LoginWorld(edge, this.provider, this.clock, this.upstream);
  }

  get upstreamAddress(): string {
    return `127.0.0.1:${(this.upstream.address() as AddressInfo).port}`;
  }

  origin(host: string): string {
    return `https://${host}:${this.edge.port}`;
  }

  /** A site behind login at the real provider, registered there. */
  async site(fields: Readonly<Record<string, unknown>> = {}): Promise<Site> {
    const site = await this.edge.site(await this.edge.staticBackend(this.upstreamAddress));
    await this.protect(site, fields);
    return site;
  }

  async protect(site: Site, fields: Readonly<Record<string, unknown>> = {}): Promise<void> {
    this.register(site.host);
    await this.edge.api('PUT', `${site.routePath}/oidc`, this.module(fields));
  }

  module(fields: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> {
    return {
      issuer: this.provider.issuer,
      client_id: CLIENT_ID,
      client_secret: CLIENT_SECRET,
      scopes: ['email', 'profile'],
      ...fields,
    };
  }

  /** Registers a host for the return of logins at the provider. */
  register(host: string): void {
    this.#hosts.add(host);
    const origins = [...this.#hosts].map((each) => this.origin(each));
    this.provider.setClients(
      [CLIENT_ID, 'other'].map((client_id) => ({
        client_id,
        client_secret: CLIENT_SECRET,
        grant_types: ['authorization_code', 'refresh_token'],
        redirect_uris: origins.map((origin) => `${origin}/.postern/callback`),
        post_logout_redirect_uris: origins.map((origin) => `${origin}/.postern/logout/done`),
        backchannel_logout_uri: `${origins[0]}/.postern/backchannel-logout`,
        backchannel_logout_session_required: true,
      })),
    );
  }

  browser(): Browser {
    return new Browser(this);
  }
}

/** What a browser needs of a server, of this process or another one. */
export interface BrowserWorld {
  readonly edge: Pick<EdgeClients, 'ask'>;
  readonly provider: RunningIdentityProvider;
  origin(host: string): string;
}

/** A user at a browser, without the browser. */
export class Browser {
  readonly jar: CookieJar;
  readonly #world: BrowserWorld;
  /** Address of the last page. */
  location = '';

  constructor(world: BrowserWorld, jar = new CookieJar()) {
    this.#world = world;
    this.jar = jar;
  }

  /** The same browser at another process. Cookies are not separated by port. */
  at(world: BrowserWorld): Browser {
    return new Browser(world, this.jar);
  }

  /** An independent copy with the current cookies. */
  copy(): Browser {
    return new Browser(this.#world, this.jar.copy());
  }

  /** One request; cookies are sent and stored. */
  async ask(host: string, path: string, options: AskOptions = {}): Promise<EdgeAnswer> {
    const url = `${this.#world.origin(host)}${path}`;
    const cookie = this.jar.header(url);
    const answer = await this.#world.edge.ask(host, path, {
      // With a moved clock the edge issues certificates of another day.
      rejectUnauthorized: false,
      ...options,
      headers: {
        host: new URL(url).host,
        ...(cookie !== undefined && { cookie }),
        ...(options.headers as Readonly<Record<string, string>>),
      },
    });
    this.jar.store(url, answer.headers['set-cookie']);
    this.location = url;
    return answer;
  }

  /** A link or the address bar, without following redirects. */
  open(host: string, path = '/', options: AskOptions = {}): Promise<EdgeAnswer> {
    return this.ask(host, path, {
      ...options,
      headers: { accept: 'text/html', 'sec-fetch-mode': 'navigate', ...(options.headers as object) },
    });
  }

  /** Follows redirects on the edge up to the first that leads to the provider, or the first page. */
  async upToProvider(
    host: string,
    path = '/',
    options: AskOptions = {},
  ): Promise<{ readonly url: URL | null; readonly page: EdgeAnswer }> {
    let next = path;
    for (let step = 0; step < 10; step += 1) {
      const page = await this.open(host, next, options);
      const login = /<a class="button" id="go" href="([^"]+)"/.exec(page.text)?.[1];
      const location = page.headers['location'] as string | undefined;
      if (login !== undefined) next = login.replaceAll('&amp;', '&');
      else if (location === undefined) return { url: null, page };
      else {
        const url = new URL(location, this.#world.origin(host));
        if (url.origin !== this.#world.origin(host)) return { url, page };
        next = `${url.pathname}${url.search}`;
      }
    }
    throw new Error('the edge redirects without end');
  }

  /** The complete login: to the provider, in as the user, back, and to the requested page. */
  async logIn(host: string, path = '/', user = 'alice'): Promise<EdgeAnswer> {
    const { url, page } = await this.upToProvider(host, path);
    if (url === null) return page;
    const callback = await logIn(this.#world.provider, url, user, this.jar);
    return (await this.upToProvider(host, `${callback.pathname}${callback.search}`)).page;
  }
}

async function openUpstream(test: Cleanup): Promise<Server> {
  const server = createServer((request, response) => {
    const seen: Seen = { url: request.url ?? '', method: request.method ?? '', headers: request.headers };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(seen));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  test.after(() => {
    server.closeAllConnections();
    server.close();
    return Promise.resolve();
  });
  return server;
}
