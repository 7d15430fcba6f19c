import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/server';
import type { Cleanup } from './cleanup.ts';
import { CookieJar } from './cookie-jar.ts';
import type { AskOptions, EdgeAnswer, EdgeClients } from './edge-clients.ts';
import { EdgeWorld, type Site } from './edge-world.ts';
import { MovableClock } from './login-world.ts';
import { type Deviations, SoftAuthenticator } from './soft-authenticator.ts';
import type { WorldOptions } from './test-world.ts';

export const IDENTITY_HOST = 'id.example.test';
export const IDENTITY_ORIGIN = `https://${IDENTITY_HOST}`;

export interface Invited {
  /** Id of the account. */
  readonly id: string;
  readonly url: string;
}

export interface IdentityWorldOptions extends Omit<WorldOptions, 'env' | 'clock'> {
  readonly env?: Readonly<Record<string, string>>;
  readonly host?: string;
  /** False: the server has the clock of its installation. */
  readonly isClockMovable?: boolean;
}

/**
 * The server with an identity host, and an upstream that echoes requests and streams on `/stream`. Clients find the
 * host under its name without a port.
 */
export class IdentityWorld implements IdentityServer {
  readonly edge: EdgeWorld;
  readonly clock: MovableClock;
  readonly origin: string;
  /** Where the upstream listens. */
  readonly upstream: string;

  private constructor(
    edge: EdgeWorld,
    { clock, origin, upstream }: Pick<IdentityWorld, 'clock' | 'origin' | 'upstream'>,
  ) {
    this.edge = edge;
    this.clock = clock;
    this.origin = origin;
    this.upstream = upstream;
  }

  static async open(
    test: Cleanup,
    { env, host = IDENTITY_HOST, isClockMovable = true, ...options }: IdentityWorldOptions = {},
  ): Promise<IdentityWorld> {
    const clock = new MovableClock();
    const upstream = `127.0.0.1:${((await openUpstream(test)).address() as AddressInfo).port}`;
    const settings = { POSTERN_IDENTITY_HOST: host, ...env };
    const edge = await EdgeWorld.open(test, settings, { ...(isClockMovable && { clock }), ...options });
    return new IdentityWorld(edge, { clock, origin: `https://${host}`, upstream });
  }

  /** A site whose route logs people in here. */
  async site(fields: Readonly<Record<string, unknown>> = {}): Promise<Site> {
    const site = await this.edge.site(await this.edge.staticBackend(this.upstream));
    await this.edge.api('PUT', `${site.routePath}/oidc`, { issuer: this.origin, ...fields });
    return site;
  }

  /** Id of a person who has no passkey. */
  async account(email: string, groups: readonly string[] = []): Promise<string> {
    const { id } = await this.edge.api('POST', '/user_accounts', { email, name: email, groups });
    return id;
  }

  async invite(email: string, fields: Readonly<Record<string, unknown>> = {}): Promise<Invited> {
    const { id, invitation_url } = await this.edge.api('POST', '/user_accounts', { email, ...fields });
    return { id, url: invitation_url };
  }

  /** A person with a passkey, logged in with a browser. */
  async person(email: string, fields: Readonly<Record<string, unknown>> = {}): Promise<Person> {
    const invited = await this.invite(email, fields);
    const browser = this.browser();
    const device = new SoftAuthenticator(IDENTITY_ORIGIN);
    const answer = await browser.accept(invited.url, device);
    assert.equal(answer.status, 303, answer.text);
    return { ...invited, browser, device };
  }

  browser(): IdentityBrowser {
    return new IdentityBrowser(this);
  }
}

export interface Person extends Invited {
  readonly browser: IdentityBrowser;
  readonly device: SoftAuthenticator;
}

type Fields = Readonly<Record<string, string>>;

/** A server with an identity host, of this process or another one. */
export interface IdentityServer {
  readonly edge: Pick<EdgeClients, 'ask'>;
  readonly origin: string;
}

/** A person at a browser with our pages, without the browser. */
export class IdentityBrowser {
  readonly jar: CookieJar;
  readonly #world: IdentityServer;

  constructor(world: IdentityServer, jar = new CookieJar()) {
    this.#world = world;
    this.jar = jar;
  }

  /** The same browser at another node. */
  at(world: IdentityServer): IdentityBrowser {
    return new IdentityBrowser(world, this.jar);
  }

  /** An independent copy with the current cookies. */
  copy(): IdentityBrowser {
    return new IdentityBrowser(this.#world, this.jar.copy());
  }

  open(path: string, headers: Fields = {}): Promise<EdgeAnswer> {
    return this.#ask(path, {
      headers: { accept: 'text/html', 'sec-fetch-site': 'none', 'sec-fetch-dest': 'document', ...headers },
    });
  }

  /** As a form of one of our pages; a header '' is left out. */
  submit(path: string, fields: Fields = {}, headers: Fields = {}): Promise<EdgeAnswer> {
    return this.#ask(path, {
      method: 'POST',
      body: new URLSearchParams(fields).toString(),
      headers: {
        accept: 'text/html',
        'content-type': 'application/x-www-form-urlencoded',
        origin: this.#world.origin,
        'sec-fetch-site': 'same-origin',
        'sec-fetch-dest': 'document',
        ...headers,
      },
    });
  }

  /** As the script of a page asks for the options of a ceremony. */
  async options<Options = PublicKeyCredentialRequestOptionsJSON>(path: string, fields: Fields = {}): Promise<Options> {
    const answer = await this.submit(path, fields, { accept: 'application/json', 'sec-fetch-dest': 'empty' });
    assert.equal(answer.status, 200, answer.text);
    return JSON.parse(answer.text).options;
  }

  async accept(url: string, device: SoftAuthenticator, different: Deviations = {}): Promise<EdgeAnswer> {
    const { pathname, search, searchParams } = new URL(url);
    const page = await this.open(`${pathname}${search}`);
    if (page.status !== 200) return page;
    const fields = { invite: searchParams.get('invite') ?? '' };
    const options = await this.options<PublicKeyCredentialCreationOptionsJSON>('/invitation/options', fields);
    const response = JSON.stringify(device.create(options, different));
    return this.submit('/invitation/passkey', { ...fields, response });
  }

  async logIn(device: SoftAuthenticator, query = '', different: Deviations = {}): Promise<EdgeAnswer> {
    const page = await this.open(`/sign-in${query}`);
    if (page.status !== 200) return page;
    const options = await this.options(`/sign-in/options${query}`);
    return this.submit(`/sign-in/passkey${query}`, { response: JSON.stringify(device.get(options, different)) });
  }

  async confirm(device: SoftAuthenticator): Promise<EdgeAnswer> {
    const options = await this.options('/account/confirm/options');
    return this.submit('/account/confirm', { response: JSON.stringify(device.get(options)) });
  }

  async addPasskey(device: SoftAuthenticator, different: Deviations = {}): Promise<EdgeAnswer> {
    const options = await this.options<PublicKeyCredentialCreationOptionsJSON>('/account/passkeys/options');
    return this.submit('/account/passkeys', { response: JSON.stringify(device.create(options, different)) });
  }

  async #ask(path: string, options: AskOptions): Promise<EdgeAnswer> {
    const url = `${this.#world.origin}${path}`;
    const { host, hostname } = new URL(url);
    const cookie = this.jar.header(url);
    const given = Object.entries((options.headers ?? {}) as Fields).filter(([, value]) => value !== '');
    const answer = await this.#world.edge.ask(hostname, path, {
      // With a moved clock the edge issues certificates of another day.
      rejectUnauthorized: false,
      ...options,
      headers: { host, ...(cookie !== undefined && { cookie }), ...Object.fromEntries(given) },
    });
    this.jar.store(url, answer.headers['set-cookie']);
    return answer;
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
