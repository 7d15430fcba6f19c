import { createHmac, generateKeyPairSync, hash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, SignJWT } from 'jose';
import { PROVIDER_NAMES, type ProviderName } from '../../../src/modules/oauth/provider-definition.ts';
import type { Cleanup } from '../../support/cleanup.ts';

export const CLIENT_ID = 'postern-app';
export const CLIENT_SECRET = 'oauth-secret-0123456789';
const TENANT = '11111111-2222-4333-8444-555555555555';

/** Who logs in next, and what the provider says about them. Changes apply to logins that exist. */
export interface Person {
  id: number;
  name: string;
  login: string;
  email: string;
  isEmailVerified: boolean;
  organizations: string[];
  /** `organization/team`; the id is the position, from 7000. */
  teams: string[];
  tenant: string;
  /** Replaces claims of Microsoft's ID token. */
  idClaims: Record<string, unknown>;
}

interface Grant {
  readonly provider: ProviderName;
  readonly person: Person;
  readonly query: URLSearchParams;
}

/** Paths below the provider's own prefix: authorization, token and API. */
const PATHS: Readonly<Record<ProviderName, readonly [string, string, string]>> = {
  amazon: ['/ap/oa', '/auth/o2/token', ''],
  facebook: ['/dialog/oauth', '/oauth/access_token', ''],
  github: ['/login/oauth/authorize', '/login/oauth/access_token', '/api'],
  gitlab: ['/oauth/authorize', '/oauth/token', ''],
  google: ['/o/oauth2/v2/auth', '/token', '/v1'],
  linkedin: ['/oauth/v2/authorization', '/oauth/v2/accessToken', ''],
  microsoft: ['/common/oauth2/v2.0/authorize', '/common/oauth2/v2.0/token', ''],
  twitch: ['/oauth2/authorize', '/oauth2/token', '/helix'],
};

/** The documented endpoints of the eight providers, on one loopback port, as strict as the documentation. */
export class FakeProviders {
  readonly requests: string[] = [];
  person: Person = person();
  isDown = false;
  readonly #keys = generateKeyPairSync('rsa', { modulusLength: 2048 });
  readonly #codes = new Map<string, Grant>();
  readonly #tokens = new Map<string, Grant>();
  readonly #refreshTokens = new Map<string, Grant>();
  #base = '';

  static async open(test: Cleanup): Promise<FakeProviders> {
    const fakes = new FakeProviders();
    const server = createServer((request, response) => {
      fakes.#serve(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    fakes.#base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    test.after(() => {
      server.closeAllConnections();
      server.close();
      return Promise.resolve();
    });
    return fakes;
  }

  /** For the setting `oauth_endpoints`. */
  get endpoints(): Record<string, object> {
    return Object.fromEntries(
      PROVIDER_NAMES.map((name) => {
        const [authorize, token, api] = PATHS[name].map((path) => `${this.#base}/${name}${path}`);
        return [name, { authorize_url: authorize, token_url: token, api_url: api }];
      }),
    );
  }

  /** The user confirms at the provider: the address that the browser is sent back to. */
  confirm(url: URL): URL {
    const [, name = ''] = url.pathname.split('/');
    const provider = name as ProviderName;
    const query = url.searchParams;
    const isValid =
      url.pathname === `/${name}${PATHS[provider][0]}` &&
      query.get('response_type') === 'code' &&
      query.get('client_id') === CLIENT_ID &&
      query.get('code_challenge_method') === 'S256';
    if (!isValid) throw new Error(`not a login request: ${url.href}`);
    const code = `code-${randomUUID()}`;
    this.#codes.set(code, { provider, person: this.person, query });
    const back = new URL(query.get('redirect_uri') ?? '');
    back.search = new URLSearchParams({ code, state: query.get('state') ?? '' }).toString();
    return back;
  }

  endAccessTokens(): void {
    this.#tokens.clear();
  }

  endEverything(): void {
    this.#tokens.clear();
    this.#refreshTokens.clear();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<ServerResponse> {
    const url = new URL(request.url ?? '', this.#base);
    const [, name = '', ...rest] = url.pathname.split('/');
    const provider = name as ProviderName;
    const path = `/${rest.join('/')}`;
    this.requests.push(`${request.method} ${url.pathname}`);
    if (this.isDown) return answer(response, 503, {});
    if (path === PATHS[provider][1]) return this.#token(provider, request, response);
    if (provider === 'microsoft' && path.startsWith('/common/')) return this.#discovery(path, response);
    const bearer = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const grant = this.#tokens.get(bearer);
    if (grant?.provider !== provider) {
      return provider === 'facebook'
        ? answer(response, 400, { error: { message: 'expired', type: 'OAuthException', code: 190 } })
        : answer(response, 401, { message: 'Bad credentials' });
    }
    return this.#api(grant, path.slice(PATHS[provider][2].length), url, request, response, bearer);
  }

  async #token(provider: ProviderName, request: IncomingMessage, response: ServerResponse): Promise<ServerResponse> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const form = new URLSearchParams(Buffer.concat(chunks).toString());
    if (form.get('client_id') !== CLIENT_ID || form.get('client_secret') !== CLIENT_SECRET) {
      const isGithub = provider === 'github';
      return answer(response, isGithub ? 200 : 401, {
        error: isGithub ? 'incorrect_client_credentials' : 'invalid_client',
      });
    }
    const isRefresh = form.get('grant_type') === 'refresh_token';
    const store = isRefresh ? this.#refreshTokens : this.#codes;
    const key = form.get(isRefresh ? 'refresh_token' : 'code') ?? '';
    const grant = store.get(key);
    store.delete(key);
    const { query } = grant ?? {};
    const isProven =
      isRefresh ||
      (hash('sha256', form.get('code_verifier') ?? '', 'base64url') === query?.get('code_challenge') &&
        form.get('redirect_uri') === query.get('redirect_uri'));
    if (grant?.provider !== provider || !isProven) return refuseCode(provider, response);
    return answer(response, 200, await this.#tokensOf(grant, isRefresh));
  }

  async #tokensOf(grant: Grant, isRefresh: boolean): Promise<object> {
    const { provider, query } = grant;
    const scopes = query.get('scope')?.split(' ') ?? [];
    const access_token = `${provider}-access-${randomUUID()}`;
    this.#tokens.set(access_token, grant);
    const hasRefreshToken =
      ['gitlab', 'amazon', 'twitch'].includes(provider) ||
      (provider === 'google' && query.get('access_type') === 'offline') ||
      scopes.includes('offline_access');
    const refresh_token = `${provider}-refresh-${randomUUID()}`;
    if (hasRefreshToken) this.#refreshTokens.set(refresh_token, grant);
    const scope = { github: scopes.join(','), twitch: scopes }[provider as string] ?? scopes.join(' ');
    return {
      access_token,
      token_type: 'bearer',
      scope,
      ...(provider !== 'github' && { expires_in: 3600 }),
      ...(hasRefreshToken && { refresh_token }),
      ...(provider === 'microsoft' && { id_token: await this.#idToken(grant, isRefresh) }),
    };
  }

  #idToken({ person, query }: Grant, isRefresh: boolean): Promise<string> {
    const now = Math.floor(Date.now() / 1000);
    return new SignJWT({
      iss: `${this.#base}/microsoft/${person.tenant}/v2.0`,
      aud: CLIENT_ID,
      sub: `pairwise-${person.id}`,
      tid: person.tenant,
      name: person.name,
      preferred_username: person.email,
      email: person.email,
      ...(person.isEmailVerified && { xms_edov: true }),
      ...(!isRefresh && { nonce: query.get('nonce') ?? '' }),
      iat: now,
      nbf: now,
      exp: now + 3600,
      ...person.idClaims,
    })
      .setProtectedHeader({ alg: 'RS256', kid: 'key-1' })
      .sign(this.#keys.privateKey);
  }

  async #discovery(path: string, response: ServerResponse): Promise<ServerResponse> {
    const issuer = `${this.#base}/microsoft/{tenantid}/v2.0`;
    if (path === '/common/v2.0/.well-known/openid-configuration') {
      return answer(response, 200, { issuer, jwks_uri: `${this.#base}/microsoft/common/discovery/v2.0/keys` });
    }
    if (path !== '/common/discovery/v2.0/keys') return answer(response, 404, {});
    const jwk = await exportJWK(this.#keys.publicKey);
    return answer(response, 200, { keys: [{ ...jwk, kid: 'key-1', use: 'sig', issuer }] });
  }

  #api(
    { provider, person: who, query }: Grant,
    path: string,
    url: URL,
    request: IncomingMessage,
    response: ServerResponse,
    token: string,
  ): ServerResponse {
    const openId = {
      sub: String(who.id),
      name: who.name,
      email: who.email,
      email_verified: who.isEmailVerified,
    };
    switch (`${provider} ${path}`) {
      case 'google /userinfo':
      case 'linkedin /v2/userinfo':
        return answer(response, 200, openId);
      case 'gitlab /oauth/userinfo':
        return answer(response, 200, { ...openId, nickname: who.login, groups: who.organizations });
      case 'amazon /user/profile':
        return answer(response, 200, { user_id: `amzn1.account.${who.id}`, name: who.name, email: who.email });
      case 'facebook /me': {
        const proof = createHmac('sha256', CLIENT_SECRET).update(token).digest('hex');
        if (url.searchParams.get('appsecret_proof') !== proof) return answer(response, 400, { error: { code: 100 } });
        return answer(response, 200, { id: String(who.id), name: who.name, email: who.email });
      }
      case 'twitch /users': {
        if (request.headers['client-id'] !== CLIENT_ID) return answer(response, 401, { message: 'no Client-Id' });
        const user = { id: String(who.id), login: who.login, display_name: who.name };
        return answer(response, 200, { data: [who.isEmailVerified ? { ...user, email: who.email } : user] });
      }
      default:
        return provider === 'github' ? github(who, path, url, request, response, query) : answer(response, 404, {});
    }
  }
}

/** The public address is hidden, as most users have it, and lists come in pages of two. */
function github(
  who: Person,
  path: string,
  url: URL,
  request: IncomingMessage,
  response: ServerResponse,
  query: URLSearchParams,
): ServerResponse {
  if (request.headers['user-agent'] === undefined) return answer(response, 403, { message: 'no User-Agent' });
  const scopes = query.get('scope')?.split(' ') ?? [];
  if (path === '/user') return answer(response, 200, { id: who.id, login: who.login, name: who.name, email: null });
  const lists: Readonly<Record<string, readonly [string, readonly object[]]>> = {
    '/user/emails': [
      'user:email',
      [
        { email: 'other@elsewhere.example', primary: false, verified: true, visibility: null },
        { email: who.email, primary: true, verified: who.isEmailVerified, visibility: 'private' },
      ],
    ],
    '/user/orgs': ['read:org', who.organizations.map((login, at) => ({ login, id: at }))],
    '/user/teams': [
      'read:org',
      who.teams.map((team, at) => {
        const [login = '', slug = ''] = team.split('/');
        return { id: 7000 + at, slug, name: slug, organization: { login } };
      }),
    ],
  };
  const [scope, items] = lists[path] ?? ['', []];
  if (!scopes.includes(scope)) return answer(response, 403, { message: 'Resource not accessible' });
  const page = Number(url.searchParams.get('page') ?? 1);
  const size = 2;
  const hasMore = items.length > page * size;
  if (hasMore) response.setHeader('link', `<https://api.github.com${path}?page=${page + 1}>; rel="next"`);
  return answer(response, 200, items.slice((page - 1) * size, page * size));
}

function refuseCode(provider: ProviderName, response: ServerResponse): ServerResponse {
  if (provider === 'github') return answer(response, 200, { error: 'bad_verification_code' });
  if (provider === 'twitch') return answer(response, 400, { status: 400, message: 'Invalid authorization code' });
  if (provider === 'facebook') {
    return answer(response, 400, {
      error: { message: 'Invalid verification code', type: 'OAuthException', code: 100 },
    });
  }
  return answer(response, 400, { error: 'invalid_grant' });
}

function answer(response: ServerResponse, status: number, body: object): ServerResponse {
  return response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

export function person(fields: Partial<Person> = {}): Person {
  return {
    id: 4711,
    name: 'Ana Example',
    login: 'ana',
    email: 'Ana@Example.com',
    isEmailVerified: true,
    organizations: ['acme'],
    teams: [],
    tenant: TENANT,
    idClaims: {},
    ...fields,
  };
}
