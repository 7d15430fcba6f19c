import { randomBytes } from 'node:crypto';
import { calculatePKCECodeChallenge } from 'openid-client';
import { moduleRecords } from '../../src/app/main/data-plane/module-runtimes.ts';
import { IdentitySite } from '../../src/control/identity/identity-site.ts';
import { ownFetch } from '../../src/control/identity/own-fetch.ts';
import { AgentConsents, type IdentityClient } from '../../src/control/identity/provider/identity-clients.ts';
import { CookieSignature, IDENTITY_KEY_KIND, IdentityKeys } from '../../src/control/identity/provider/identity-keys.ts';
import { IdentityProvider } from '../../src/control/identity/provider/identity-provider.ts';
import { ProviderSessions } from '../../src/control/identity/provider/provider-sessions.ts';
import type { GuardedFetch } from '../../src/kit/http/guarded-fetch.ts';
import { type HeaderList, valuesOf } from '../../src/kit/http/header-values.ts';
import { hashToken } from '../../src/kit/text/secrets.ts';
import { Replica } from '../../src/store/replica/replica.ts';
import type { Store } from '../../src/store/store.ts';
import { put } from '../store/conformance/store-under-test.ts';
import type { Cleanup } from '../support/cleanup.ts';
import { CookieJar } from '../support/cookie-jar.ts';

export const HOST = 'id.example.com';
export const ISSUER = `https://${HOST}`;
export const REDIRECT_URI = 'https://wiki.example.com/callback';
export const SECRET = 'a-secret-of-the-wiki';
const SESSION_SECONDS = 3600;

/** The identity host on a real store, with a page that logs in whom its form names. */
export class ProviderWorld {
  readonly store: Store;
  readonly site: IdentitySite;
  readonly provider: IdentityProvider;
  readonly fetch: GuardedFetch;
  readonly sessions: ProviderSessions;
  readonly keys: IdentityKeys;
  readonly clients: Map<string, IdentityClient>;
  readonly problems: unknown[] = [];

  private constructor(store: Store, replica: Replica, clock: { nowMs(): number }) {
    const records = moduleRecords({ name: 'identity', recordKinds: [IDENTITY_KEY_KIND] }, store, replica);
    this.store = store;
    this.keys = new IdentityKeys(records, clock);
    this.clients = new Map([['wiki', client('wiki')]]);
    const signature = new CookieSignature((purpose, data) => store.mac(purpose, data));
    const shared = {
      store: store.identity,
      people: { find: (id: string) => personOf(replica, id), isEnough: () => true },
      clients: { find: (id: string) => this.clients.get(id) ?? null },
      clock,
      signature,
      consents: new AgentConsents({ store: store.identity, clock }),
      sessionSeconds: SESSION_SECONDS,
    };
    this.provider = new IdentityProvider({
      ...shared,
      issuer: ISSUER,
      host: HOST,
      keys: this.keys,
      sealer: store,
      fetch: () => Promise.reject(new Error('no request is made')),
      endConsoleSessions: async () => {},
      onProblem: (error) => this.problems.push(error),
    });
    this.fetch = ownFetch(ISSUER, (request) => this.provider.serve(request));
    const personKey = (id: string) => ({ kind: 'user_account', id });
    this.sessions = new ProviderSessions({
      ...shared,
      provider: this.provider,
      personKey,
      clientAt: () => null,
      endLogins: async () => {},
    });
    this.site = new IdentitySite(HOST, this.provider, [
      {
        method: 'POST',
        path: '/sign-in/test',
        serve: async (request) => {
          const interaction = await this.sessions.interactionOf(request);
          const accountId = request.body.toString('utf8');
          const interactionId = interaction?.id ?? null;
          const proof = { accountId, amr: 'pop', passkeyId: null, interactionId, to: '/account' } as const;
          return this.sessions.logIn(request, proof);
        },
      },
    ]);
  }

  static async open(test: Cleanup, store: Store, clock = { nowMs: () => Date.now() }): Promise<ProviderWorld> {
    const replica = await Replica.open(store);
    test.after(async () => replica.close());
    const world = new ProviderWorld(store, replica, clock);
    await world.keys.rotate();
    return world;
  }

  async person(id: string, doc: Readonly<Record<string, string | boolean | readonly string[]>> = {}): Promise<void> {
    const whole = { email: `${id}@example.com`, name: id, groups: ['ops'], active: true, ...doc };
    const result = await this.store.commit({ puts: [put('user_account', id, { doc: whole as never })] });
    if (!result.ok) throw new Error('the person was refused');
  }

  browser(): TestBrowser {
    return new TestBrowser(this.site);
  }
}

export function client(id: string, given: Partial<IdentityClient> = {}): IdentityClient {
  return {
    name: 'Wiki',
    metadata: {
      client_id: id,
      client_secret: hashToken(SECRET),
      redirect_uris: [REDIRECT_URI],
      post_logout_redirect_uris: ['https://wiki.example.com/bye'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    },
    admits: () => true,
    backChannelLogoutUri: null,
    agent: null,
    ...given,
  };
}

function personOf(replica: Replica, id: string) {
  const record = replica.get('user_account', id);
  if (record === undefined || record.doc['active'] !== true) return null;
  const { email, name, groups } = record.doc;
  const claims = { sub: id, email: email ?? '', email_verified: true, name: name ?? '', groups: groups ?? [] };
  return { revision: record.revision, claims, groups: groups as readonly string[] };
}

export interface Answer {
  readonly status: number;
  readonly location: URL | null;
  readonly headers: HeaderList;
  readonly text: string;
}

/** A browser that talks to the identity host in this process. */
export class TestBrowser {
  readonly jar: CookieJar;
  readonly #site: Pick<IdentitySite, 'serve'>;

  constructor(site: Pick<IdentitySite, 'serve'>, jar = new CookieJar()) {
    this.#site = site;
    this.jar = jar;
  }

  async ask(url: string | URL, { form, headers = [] }: { form?: string; headers?: HeaderList } = {}): Promise<Answer> {
    const { pathname, search, href } = new URL(url, ISSUER);
    const cookie = this.jar.header(href);
    const answer = await this.#site.serve({
      id: 'rq_1',
      method: form === undefined ? 'GET' : 'POST',
      path: pathname,
      target: `${pathname}${search}`,
      headers: [
        'accept',
        'text/html',
        ...(cookie === undefined ? [] : ['cookie', cookie]),
        ...(form === undefined ? [] : ['content-type', 'application/x-www-form-urlencoded']),
        ...headers,
      ],
      body: Buffer.from(form ?? ''),
      clientAddress: '192.0.2.1',
    });
    this.jar.store(href, valuesOf(answer.headers, 'set-cookie'));
    const [location] = valuesOf(answer.headers, 'location');
    return {
      status: answer.status,
      location: location === undefined ? null : new URL(location, href),
      headers: answer.headers,
      text: answer.body.toString('utf8'),
    };
  }

  /** From the application's request to the return to it, with a proof of this person where one is asked for. */
  async logIn(start: string | URL, accountId: string): Promise<URL> {
    let answer = await this.ask(start);
    for (let step = 0; step < 10; step += 1) {
      const { location } = answer;
      if (location === null) throw new Error(`${answer.status}: ${answer.text}`);
      if (location.origin !== ISSUER) return location;
      answer =
        location.pathname === '/sign-in'
          ? await this.ask(`/sign-in/test${location.search}`, { form: accountId })
          : await this.ask(location);
    }
    throw new Error('the login does not end');
  }
}

export interface AskedLogin {
  readonly url: URL;
  readonly verifier: string;
}

/** The authorization request of an application. */
export async function askedLogin(params: Readonly<Record<string, string>> = {}): Promise<AskedLogin> {
  const verifier = randomBytes(32).toString('base64url');
  const url = new URL('/auth', ISSUER);
  url.search = new URLSearchParams({
    client_id: 'wiki',
    redirect_uri: REDIRECT_URI,
    response_type: 'code',
    scope: 'openid email profile groups',
    state: 'a-state',
    nonce: 'a-nonce',
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    ...params,
  }).toString();
  return { url, verifier };
}

/** The application redeems its code. */
export async function redeem(
  provider: Pick<ProviderWorld, 'fetch'>,
  code: string,
  verifier: string,
  given: Readonly<Record<string, string>> = {},
  secret = SECRET,
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers field by field
): Promise<{ status: number; body: any }> {
  const response = await provider.fetch(`${ISSUER}/token`, {
    method: 'POST',
    headers: {
      accept: 'application/json',
      authorization: `Basic ${Buffer.from(`wiki:${secret}`).toString('base64')}`,
    },
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      code_verifier: verifier,
      redirect_uri: REDIRECT_URI,
      ...given,
    }),
  });
  return { status: response.status, body: await response.json() };
}
