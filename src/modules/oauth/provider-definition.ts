import { createHmac } from 'node:crypto';
import { FetchProblem } from '../../kit/http/fetch-problem.ts';
import type { GuardedFetch } from '../../kit/http/guarded-fetch.ts';
import { isJsonObject, type JsonObject } from '../../kit/json.ts';
import { jsonOf, statusProblem } from '../login/provider/issuer-source.ts';
import { LoginProblem, unansweredProblem } from '../login/provider/login-problem.ts';

export const PROVIDER_NAMES = [
  'amazon',
  'facebook',
  'github',
  'gitlab',
  'google',
  'linkedin',
  'microsoft',
  'twitch',
] as const;

export type ProviderName = (typeof PROVIDER_NAMES)[number];

/** Absolute URLs, without a slash at the end. */
export interface ProviderEndpoints {
  readonly authorize_url: string;
  readonly token_url: string;
  readonly api_url: string;
}

/** What differs between the providers. */
export interface ProviderDefinition {
  readonly name: ProviderName;
  /** For pages and messages. */
  readonly title: string;
  readonly endpoints: ProviderEndpoints;
  /** Requested when the module names none. */
  readonly scopes: readonly string[];
  /** One of them is needed to learn the email address. */
  readonly emailScopes: readonly string[];
  /** One of them is needed to learn teams and organizations; empty: the provider has none. */
  readonly memberScopes: readonly string[];
  /** Further parameters of the login request, for a login that is checked again later. */
  readonly recheckParameters?: Readonly<Record<string, string>>;
  /** Lets the user choose another account; absent: the provider offers no way, and the user must log out there. */
  readonly switchParameters?: Readonly<Record<string, string>>;
  /** Whether the token response has an ID token that is verified. */
  readonly hasIdToken?: true;
  /** Whether the address counts in the module's own rules although the provider does not say that it is verified. */
  readonly isAccountEmailTrusted?: true;
  /** Asks the provider who has logged in. */
  loadUser(api: ProviderApi): Promise<OauthUser>;
}

export interface OauthUser {
  readonly subject: string;
  /** In the names of OpenID Connect where there are such names. */
  readonly claims: JsonObject;
}

/** GitHub's largest page. */
const PAGE_SIZE = 100;
const MAX_PAGES = 20;

interface ApiAccess {
  readonly fetch: GuardedFetch;
  readonly endpoints: ProviderEndpoints;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly accessToken: string;
  /** Claims of the verified ID token; null without one. */
  readonly idClaims: JsonObject | null;
  /** Scopes of the login. */
  readonly scopes: readonly string[];
}

/** Requests to a provider's API in the name of the user. Failures are LoginProblems. */
export class ProviderApi {
  readonly #access: ApiAccess;

  constructor(access: ApiAccess) {
    this.#access = access;
  }

  get clientId(): string {
    return this.#access.clientId;
  }

  get idClaims(): JsonObject | null {
    return this.#access.idClaims;
  }

  hasScope(names: readonly string[]): boolean {
    return this.#access.scopes.some((scope) => names.includes(scope));
  }

  /** Facebook: proves that the caller has the secret beside the token. */
  secretProof(): string {
    return createHmac('sha256', this.#access.clientSecret).update(this.#access.accessToken).digest('hex');
  }

  async get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<JsonObject> {
    const { url, response } = await this.#ask(path, headers);
    return jsonOf(response, url);
  }

  /** All items of a list that comes in pages (RFC 8288 `Link`), which are counted here: no link is followed. */
  async list(path: string, headers: Readonly<Record<string, string>> = {}): Promise<readonly JsonObject[]> {
    const items: JsonObject[] = [];
    for (let page = 1; page <= MAX_PAGES; page += 1) {
      const { url, response } = await this.#ask(`${path}?per_page=${PAGE_SIZE}&page=${page}`, headers);
      const body: unknown = await response.json().catch(() => null);
      if (!Array.isArray(body)) {
        throw new LoginProblem('provider', 'malformed_answer', `${url} returned a body that is not a JSON list`);
      }
      // Not as arguments, of which a call can have about 120,000: a page of 1 MB can have more items.
      for (const item of body) if (isJsonObject(item)) items.push(item);
      if (!/\brel="?next\b/.test(response.headers.get('link')?.slice(0, 4096) ?? '')) return items;
    }
    throw new LoginProblem('provider', 'too_large', `${path} has more than ${MAX_PAGES} pages`);
  }

  async #ask(
    path: string,
    headers: Readonly<Record<string, string>>,
  ): Promise<{ readonly url: string; readonly response: Response }> {
    const { fetch, endpoints, accessToken } = this.#access;
    const [url = ''] = path.split('?');
    const response = await fetch(`${endpoints.api_url}${path}`, {
      // GitHub rejects requests without a user agent.
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${accessToken}`,
        'user-agent': 'postern',
        ...headers,
      },
    }).catch((error: unknown) => {
      throw error instanceof FetchProblem ? unansweredProblem(error) : error;
    });
    const shown = `${endpoints.api_url}${url}`;
    if (response.status !== 200) throw refusal(shown, response);
    return { url: shown, response };
  }
}

function refusal(url: string, response: Response): LoginProblem {
  const { status, headers } = response;
  // GitHub's and Facebook's rate limits.
  if (status === 403 && (headers.get('x-ratelimit-remaining') === '0' || headers.has('retry-after'))) {
    return new LoginProblem('unreachable', 'unexpected_status', `${url} limits the rate of requests`);
  }
  // Facebook answers 400 to a token that has ended.
  return status === 401 || status === 400
    ? new LoginProblem('invalid_grant', 'invalid_grant', `${url} no longer accepts the access token (${status})`)
    : statusProblem(url, status);
}
