import { loadPart } from '../../../kit/load-part.ts';
import type { KnownLogin, LoginCallback, LoginClient, LoginStart } from '../login-client.ts';
import type { Provider } from '../provider/providers.ts';
import type { ClientConfig, OpenIdLoginClient } from './openid-login-client.ts';

/**
 * The protocol library is loaded when the configuration first has a login, before a visitor needs it. Servers without a
 * login save its memory.
 */
export class OpenIdLogin implements LoginClient {
  readonly #provider: Provider;
  readonly #config: ClientConfig;
  #client: OpenIdLoginClient | null = null;

  constructor(provider: Provider, config: ClientConfig) {
    this.#provider = provider;
    this.#config = config;
    // A failure belongs to the visitor who needs it.
    library().catch(() => {});
  }

  async authorizationUrl(start: LoginStart & { readonly isSwitch?: boolean }) {
    return (await this.#loaded()).authorizationUrl(start);
  }

  async checkCallback(callback: Pick<LoginCallback, 'callbackUrl' | 'state'>) {
    return (await this.#loaded()).checkCallback(callback);
  }

  async exchange(callback: LoginCallback) {
    return (await this.#loaded()).exchange(callback);
  }

  async refresh(known: KnownLogin) {
    return (await this.#loaded()).refresh(known);
  }

  async endSessionUrl(ended: { readonly idToken: string | null; readonly postLogoutRedirectUri: string }) {
    return (await this.#loaded()).endSessionUrl(ended);
  }

  async verifyLogoutToken(token: string) {
    return (await this.#loaded()).verifyLogoutToken(token);
  }

  async #loaded(): Promise<OpenIdLoginClient> {
    if (this.#client !== null) return this.#client;
    const { OpenIdLoginClient } = await library();
    this.#client = new OpenIdLoginClient(this.#provider, this.#config);
    return this.#client;
  }
}

function library() {
  return loadPart(() => import('./openid-login-client.ts'));
}
