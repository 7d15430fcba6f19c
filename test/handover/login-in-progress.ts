import assert from 'node:assert/strict';
import { Agent, request } from 'node:https';
import type { RunningIdentityProvider } from '../../tools/dev-idp/create-identity-provider.ts';
import type { Cleanup } from '../support/cleanup.ts';
import { CookieJar } from '../support/cookie-jar.ts';
import { IdentityProvider, logIn } from '../support/identity-provider.ts';
import type { HandoverWorld } from './handover-world.ts';

interface Page {
  readonly status: number;
  readonly location: string | null;
  readonly text: string;
}

/** A site behind login, and a browser that has been sent to the provider. */
export class LoginInProgress {
  readonly #provider: RunningIdentityProvider;
  readonly #world: HandoverWorld;
  readonly #host: string;
  readonly #jar = new CookieJar();
  readonly #agent: Agent | false;

  private constructor(
    world: HandoverWorld,
    host: string,
    provider: RunningIdentityProvider,
    agent: Agent | false = false,
  ) {
    this.#world = world;
    this.#host = host;
    this.#provider = provider;
    this.#agent = agent;
  }

  static async open(test: Cleanup, world: HandoverWorld, upstream: string): Promise<LoginInProgress> {
    const { host, routePath } = await world.createEdge(upstream);
    const provider = await IdentityProvider.open(test);
    const login = new LoginInProgress(world, host, provider);
    const [client_id, client_secret] = ['shop', 'shop-secret-0123456789'];
    const redirect_uris = [`${login.#origin}/.postern/callback`];
    provider.setClients([{ client_id, client_secret, grant_types: ['authorization_code'], redirect_uris }]);
    const api = world.api();
    const module = { issuer: provider.issuer, client_id, client_secret, scopes: ['email'] };
    const { status, body } = await api.send('PUT', `${routePath}/oidc`, module);
    assert.equal(status, 200, JSON.stringify(body));
    api.close();
    return login;
  }

  /** Another browser at the same site. */
  inNewBrowser(): LoginInProgress {
    return new LoginInProgress(this.#world, this.#host, this.#provider);
  }

  /** Another browser at the same site, which keeps its connection to the old process. */
  keepingItsConnection(test: Cleanup): LoginInProgress {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    test.after(async () => agent.destroy());
    return new LoginInProgress(this.#world, this.#host, this.#provider, agent);
  }

  /** Opens the page. Returns the path at which the provider sends the browser back. */
  async toProviderAndBack(): Promise<string> {
    const { url, page } = await this.#follow('/');
    assert.ok(url !== null, `the edge asks for a login: ${page.status} ${page.text}`);
    const { pathname, search } = await logIn(this.#provider, url, 'alice', this.#jar);
    return `${pathname}${search}`;
  }

  /** From there to the first page. */
  async finish(path: string): Promise<Page> {
    const { url, page } = await this.#follow(path);
    assert.equal(url, null, 'the edge asks for no other login');
    return page;
  }

  get #origin(): string {
    return `https://${this.#host}:${this.#world.edgePort}`;
  }

  async #follow(path: string): Promise<{ readonly url: URL | null; readonly page: Page }> {
    let next = path;
    for (let step = 0; step < 10; step += 1) {
      const page = await this.#get(next);
      const button = /<a class="button" id="go" href="([^"]+)"/.exec(page.text)?.[1]?.replaceAll('&amp;', '&');
      const leadsTo = page.location ?? button;
      if (leadsTo === undefined) return { url: null, page };
      const url = new URL(leadsTo, this.#origin);
      if (url.origin !== this.#origin) return { url, page };
      next = `${url.pathname}${url.search}`;
    }
    throw new Error('the edge redirects without end');
  }

  #get(path: string): Promise<Page> {
    const { edgePort: port, ca } = this.#world;
    const url = `${this.#origin}${path}`;
    const cookie = this.#jar.header(url);
    const headers = {
      host: new URL(url).host,
      accept: 'text/html',
      'sec-fetch-mode': 'navigate',
      ...(cookie !== undefined && { cookie }),
    };
    return new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port, servername: this.#host, ca: [...ca], path, headers };
      const agent = this.#agent;
      const sent = request({ ...options, agent }, (response) => {
        this.#jar.store(url, response.headers['set-cookie']);
        let text = '';
        response.setEncoding('utf8').on('error', reject);
        response.on('data', (part: string) => {
          text += part;
        });
        const { statusCode: status = 0, headers: got } = response;
        response.on('end', () => resolve({ status, location: got.location ?? null, text }));
      });
      sent.on('error', reject).end();
    });
  }
}
