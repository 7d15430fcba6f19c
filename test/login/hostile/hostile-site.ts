import assert from 'node:assert/strict';
import type { Cleanup } from '../../support/cleanup.ts';
import type { EdgeAnswer } from '../../support/edge-world.ts';
import { type Browser, LoginWorld, type LoginWorldOptions, type Seen } from '../../support/login-world.ts';
import { type HostileProvider, startHostileProvider } from './hostile-provider.ts';

/** A whole server with a site behind login at the hostile provider. */
export class HostileSite {
  readonly world: LoginWorld;
  readonly provider: HostileProvider;
  readonly host: string;

  private constructor(world: LoginWorld, provider: HostileProvider, host: string) {
    this.world = world;
    this.provider = provider;
    this.host = host;
  }

  static async open(test: Cleanup, options: LoginWorldOptions = {}, fields: object = {}): Promise<HostileSite> {
    const provider = await startHostileProvider(test);
    return HostileSite.in(await LoginWorld.open(test, options), provider, fields);
  }

  static async in(world: LoginWorld, provider: HostileProvider, fields: object = {}): Promise<HostileSite> {
    const { issuer, clientId: client_id, clientSecret: client_secret } = provider;
    const { host } = await world.site({ issuer, client_id, client_secret, scopes: ['email'], ...fields });
    return new HostileSite(world, provider, host);
  }

  /** Up to the browser's return: path and query of the callback. */
  async authorized(browser: Browser, path = '/'): Promise<string> {
    const { url, page } = await browser.upToProvider(this.host, path);
    assert.ok(url !== null, `${page.status} ${page.text}`);
    const answer = await fetch(url, { redirect: 'manual' });
    await answer.arrayBuffer();
    const callback = new URL(answer.headers.get('location') ?? '');
    return `${callback.pathname}${callback.search}`;
  }

  async logIn(browser = this.world.browser()): Promise<Browser> {
    const answer = await browser.open(this.host, await this.authorized(browser));
    assert.equal(answer.status, 302, answer.text);
    assert.equal((await browser.open(this.host)).status, 200);
    return browser;
  }

  open(browser: Browser, path = '/'): Promise<EdgeAnswer> {
    return browser.open(this.host, path);
  }

  /** Sessions listed by the API. */
  async sessions(): Promise<number> {
    return (await this.world.edge.api('GET', '/app/sessions?limit=100')).application_sessions.length;
  }

  tokenRequests(grantType: string): number {
    return this.provider.tokenRequests.filter(({ body }) => body.get('grant_type') === grantType).length;
  }
}

/** The identity that the upstream received, claims decoded. */
export function identityIn({ status, text }: EdgeAnswer): {
  readonly email: unknown;
  readonly name: unknown;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly assertion: Readonly<Record<string, unknown>>;
} {
  assert.equal(status, 200, text);
  const { headers } = JSON.parse(text) as Seen;
  const decoded = (part: string): Record<string, unknown> => JSON.parse(Buffer.from(part, 'base64url').toString());
  return {
    email: headers['postern-auth-user-email'],
    name: headers['postern-auth-user-name'],
    claims: decoded(String(headers['postern-auth-claims'])),
    assertion: decoded(String(headers['postern-auth-assertion']).split('.')[1] ?? ''),
  };
}
