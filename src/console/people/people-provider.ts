import type { JsonObject } from '../../lib/json.ts';

export interface LoginStart {
  readonly redirectUri: string;
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/** The provider at which people log in. Failures are PosternErrors that may be shown; the log has the details. */
export interface PeopleProvider {
  authorizationUrl(start: LoginStart): Promise<URL>;
  /** `callbackUrl`: with the browser's query. */
  exchange(callback: LoginStart & { readonly callbackUrl: URL }): Promise<{
    readonly subject: string;
    readonly claims: JsonObject;
    /** The provider's session, if it names one. */
    readonly sid: string | null;
  }>;
}
