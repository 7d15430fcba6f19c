import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { SignJWT } from 'jose';
import type { Cleanup } from '../../support/cleanup.ts';
import { makeSigningKey, type SigningKey, sharedRsaKey } from './signing-key.ts';

export type Fields = Record<string, unknown>;
export type Endpoint = 'discovery' | 'authorize' | 'token' | 'jwks' | 'userinfo' | 'end_session';

/** How the provider deviates from the protocol. Each field bends one thing; absent fields stay correct. */
export interface Bend {
  discovery?: (document: Fields) => Fields;
  /** The query that comes back through the browser. */
  callback?: (query: URLSearchParams) => void;
  idTokenHeader?: (header: Fields) => Fields;
  idTokenClaims?: (claims: Fields) => Fields;
  /** Creates the whole ID token. */
  signIdToken?: (header: Fields, claims: Fields, provider: HostileProvider) => Promise<string> | string;
  tokenAnswer?: (answer: Fields) => Fields;
  jwks?: (keys: Fields[]) => Fields[];
  userinfo?: (claims: Fields) => Fields;
  /** Takes over an endpoint's response; true when it did. */
  answer?: (endpoint: Endpoint, request: IncomingMessage, response: ServerResponse) => boolean;
}

/** A user who is always logged in, at a provider that the test controls. */
export interface HostileProvider {
  readonly issuer: string;
  bend: Bend;
  /** The first one signs; all are published. */
  keys: SigningKey[];
  user: Fields & { sub: string };
  readonly clientId: string;
  readonly clientSecret: string;
  readonly requests: Endpoint[];
  /** Bodies and Authorization headers received by the token endpoint. */
  readonly tokenRequests: { readonly body: URLSearchParams; readonly authorization: string | undefined }[];
  nowSeconds(): number;
  sign(header: Fields, claims: Fields, key?: SigningKey): Promise<string>;
  rotateKeys(alg?: string): Promise<void>;
  /** A valid logout token, or a bent one. */
  logoutToken(bend?: { header?: Fields; claims?: Fields; key?: SigningKey }): Promise<string>;
}

export const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';

interface Grant {
  readonly nonce: string | null;
  readonly challenge: string;
  readonly redirectUri: string;
}

export const PATHS: Readonly<Record<string, Endpoint>> = {
  '/.well-known/openid-configuration': 'discovery',
  '/authorize': 'authorize',
  '/token': 'token',
  '/jwks': 'jwks',
  '/userinfo': 'userinfo',
  '/end_session': 'end_session',
};

/** A handwritten OpenID provider on loopback that can do what no library would. */
export async function startHostileProvider(test: Cleanup, bend: Bend = {}): Promise<HostileProvider> {
  const server = createServer((request, response) => {
    handle(provider, codes, request, response).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500);
      response.end(String(error));
    });
  });
  const codes = new Map<string, Grant>();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  test.after(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  const provider: HostileProvider = {
    issuer: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bend,
    keys: [await sharedRsaKey()],
    user: { sub: 'user-1', email: 'ada@example.com', email_verified: true, name: 'Ada' },
    clientId: 'client-1',
    clientSecret: 'the client secret: ü+%',
    requests: [],
    tokenRequests: [],
    nowSeconds: () => Math.floor(Date.now() / 1000),
    sign: (header, claims, key = signingKey(provider)) =>
      new SignJWT(claims).setProtectedHeader({ alg: key.alg, ...header }).sign(key.privateKey),
    rotateKeys: async (alg = 'ES256') => {
      provider.keys = [await makeSigningKey(alg)];
    },
    logoutToken: ({ header = {}, claims = {}, key = signingKey(provider) } = {}) => {
      const now = provider.nowSeconds();
      const honest = {
        iss: provider.issuer,
        aud: provider.clientId,
        iat: now,
        exp: now + 120,
        jti: randomUUID(),
        events: { [LOGOUT_EVENT]: {} },
        sub: provider.user.sub,
        sid: 'sid-1',
      };
      return provider.sign(
        without({ typ: 'logout+jwt', kid: key.kid, ...header }),
        without({ ...honest, ...claims }),
        key,
      );
    },
  };
  return provider;
}

/** Fields set to undefined are removed. */
export function without(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function signingKey(provider: HostileProvider): SigningKey {
  const [key] = provider.keys;
  if (key === undefined) throw new Error('the provider has no key');
  return key;
}

async function handle(
  provider: HostileProvider,
  codes: Map<string, Grant>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', provider.issuer);
  const endpoint = PATHS[url.pathname];
  if (endpoint === undefined) {
    response.writeHead(404).end();
    return;
  }
  provider.requests.push(endpoint);
  if (provider.bend.answer?.(endpoint, request, response) === true) return;
  switch (endpoint) {
    case 'discovery':
      json(response, 200, without(discovery(provider)));
      return;
    case 'authorize':
      authorize(provider, codes, url.searchParams, response);
      return;
    case 'token':
      await token(provider, codes, request, response);
      return;
    case 'jwks': {
      const keys = provider.keys.map((key): Fields => ({ ...key.publicJwk }));
      json(response, 200, { keys: provider.bend.jwks?.(keys) ?? keys });
      return;
    }
    case 'userinfo':
      json(response, 200, without(provider.bend.userinfo?.({ ...provider.user }) ?? provider.user));
      return;
    case 'end_session':
      response.writeHead(302, { location: url.searchParams.get('post_logout_redirect_uri') ?? '/' }).end();
  }
}

function discovery(provider: HostileProvider): Fields {
  const { issuer, bend } = provider;
  const honest = {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/jwks`,
    userinfo_endpoint: `${issuer}/userinfo`,
    end_session_endpoint: `${issuer}/end_session`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256', 'ES256', 'EdDSA', 'HS256', 'none'],
    backchannel_logout_supported: true,
  };
  return bend.discovery?.(honest) ?? honest;
}

function authorize(
  provider: HostileProvider,
  codes: Map<string, Grant>,
  query: URLSearchParams,
  response: ServerResponse,
): void {
  const redirectUri = query.get('redirect_uri') ?? '';
  const code = randomUUID();
  codes.set(code, { nonce: query.get('nonce'), challenge: query.get('code_challenge') ?? '', redirectUri });
  const location = new URL(redirectUri);
  location.searchParams.set('code', code);
  location.searchParams.set('state', query.get('state') ?? '');
  provider.bend.callback?.(location.searchParams);
  response.writeHead(302, { location: location.href }).end();
}

async function token(
  provider: HostileProvider,
  codes: Map<string, Grant>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = new URLSearchParams(await text(request));
  provider.tokenRequests.push({ body, authorization: request.headers.authorization });
  const isRefresh = body.get('grant_type') === 'refresh_token';
  const code = body.get('code') ?? '';
  const grant = codes.get(code);
  codes.delete(code);
  if (!isRefresh && (grant === undefined || !isProven(grant, body))) {
    json(response, 400, { error: 'invalid_grant', error_description: `the code ${code} is spent` });
    return;
  }
  const answer = {
    access_token: `access-${randomUUID()}`,
    token_type: 'Bearer',
    expires_in: 300,
    refresh_token: `refresh-${randomUUID()}`,
    id_token: await idToken(provider, grant?.nonce ?? null),
  };
  json(response, 200, without(provider.bend.tokenAnswer?.(answer) ?? answer));
}

function isProven(grant: Grant, body: URLSearchParams): boolean {
  const challenge = createHash('sha256')
    .update(body.get('code_verifier') ?? '')
    .digest('base64url');
  return challenge === grant.challenge && body.get('redirect_uri') === grant.redirectUri;
}

async function idToken(provider: HostileProvider, nonce: string | null): Promise<string> {
  const { bend } = provider;
  const key = signingKey(provider);
  const now = provider.nowSeconds();
  const honest = {
    iss: provider.issuer,
    aud: provider.clientId,
    iat: now,
    exp: now + 300,
    sid: 'sid-1',
    ...(nonce === null ? {} : { nonce }),
    ...provider.user,
  };
  const claims = without(bend.idTokenClaims?.(honest) ?? honest);
  const plain = { alg: key.alg, typ: 'JWT', kid: key.kid };
  const header = without(bend.idTokenHeader?.(plain) ?? plain);
  return bend.signIdToken?.(header, claims, provider) ?? provider.sign(header, claims);
}

function json(response: ServerResponse, status: number, body: Fields): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(JSON.stringify(body));
}
