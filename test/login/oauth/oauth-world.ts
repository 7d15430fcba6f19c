import type { ProviderName } from '../../../src/modules/oauth/provider-definition.ts';
import type { Cleanup } from '../../support/cleanup.ts';
import type { AskOptions, EdgeAnswer, Site } from '../../support/edge-world.ts';
import { type Browser, LoginWorld } from '../../support/login-world.ts';
import { CLIENT_ID, CLIENT_SECRET, FakeProviders } from './fake-providers.ts';

/** A server whose providers are the fakes. */
export class OauthWorld {
  readonly login: LoginWorld;
  readonly fakes: FakeProviders;

  private constructor(login: LoginWorld, fakes: FakeProviders) {
    this.login = login;
    this.fakes = fakes;
  }

  static async open(test: Cleanup, settings: Readonly<Record<string, string>> = {}): Promise<OauthWorld> {
    const fakes = await FakeProviders.open(test);
    const env = { ...settings, POSTERN_OAUTH_ENDPOINTS: JSON.stringify(fakes.endpoints) };
    return new OauthWorld(await LoginWorld.open(test, { env }), fakes);
  }

  async site(provider: ProviderName, rules: object = {}, fields: object = {}): Promise<Site> {
    const { edge, upstreamAddress } = this.login;
    const site = await edge.site(await edge.staticBackend(upstreamAddress));
    await this.put(site, provider, rules, fields);
    return site;
  }

  put(site: Site, provider: ProviderName, rules: object = {}, fields: object = {}): Promise<unknown> {
    const client = { client_id: CLIENT_ID, client_secret: CLIENT_SECRET, ...rules };
    return this.login.edge.api('PUT', `${site.routePath}/oauth`, { provider: { [provider]: client }, ...fields });
  }

  async logIn(browser: Browser, host: string, path = '/', options: AskOptions = {}): Promise<EdgeAnswer> {
    const { url, page } = await browser.upToProvider(host, path, options);
    if (url === null) return page;
    const back = this.fakes.confirm(url);
    return (await browser.upToProvider(host, `${back.pathname}${back.search}`, options)).page;
  }
}
