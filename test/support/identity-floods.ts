import type { AskOptions, EdgeAnswer } from './edge-clients.ts';

/** Where strangers send requests. */
export interface FloodedHost {
  readonly origin: string;
  /** A client of `/oidc_clients`. */
  readonly clientId: string;
  readonly redirectUri: string;
  /** The address of a person. */
  readonly email: string;
  readonly ask: (path: string, options?: AskOptions) => Promise<EdgeAnswer>;
}

type Flood = (host: FloodedHost, number: number) => Promise<EdgeAnswer>;

/** Everything that somebody who has proved nothing can send to the identity host. */
export const IDENTITY_FLOODS: Readonly<Record<string, Flood>> = {
  'logins of an application': ({ ask, clientId, redirectUri }, number) => {
    const query = new URLSearchParams({
      client_id: clientId,
      redirect_uri: redirectUri,
      response_type: 'code',
      scope: 'openid email',
      state: `state-${number}`,
      code_challenge: 'a'.repeat(43),
      code_challenge_method: 'S256',
    });
    return ask(`/auth?${query.toString()}`);
  },
  'logins of an unknown application': ({ ask }, number) => ask(`/auth?client_id=oc_${number}&response_type=code`),
  'logins that go on without having begun': ({ ask }, number) => ask(`/auth/unknown${number}`),
  'the login page': ({ ask }) => ask('/sign-in'),
  'challenges for passkeys': (host) => post(host, '/sign-in/options', {}),
  'invented passkeys': (host, number) => post(host, '/sign-in/passkey', { response: inventedAnswer(number) }),
  'invented invitations': ({ ask }, number) => ask(`/invitation?invite=postern_ui_${number}.${'0'.repeat(32)}`),
  'codes for addresses that nobody has': (host, number) => post(host, '/code', { email: `n${number}@example.com` }),
  'codes for the address of a person': (host) => post(host, '/code', { email: host.email }),
  'invented codes': (host) => post(host, '/code/check', { code: 'AAAA-AAAA' }),
  'forms of another site': (host) => post(host, '/sign-in/passkey', {}, { origin: 'https://evil.example' }),
  'my account': ({ ask }) => ask('/account', { headers: { cookie: '__Host-postern-identity=x' } }),
  'codes of an application, with a wrong secret': (host, number) =>
    post(
      host,
      '/token',
      { grant_type: 'authorization_code', code: `code${number}`, redirect_uri: host.redirectUri },
      { authorization: `Basic ${Buffer.from(`${host.clientId}:wrong${number}`).toString('base64')}` },
    ),
  'refreshes of an unknown application': (host, number) =>
    post(host, '/token', { grant_type: 'refresh_token', refresh_token: 'x', client_id: `oc_${number}` }),
  'invented access tokens': ({ ask }, number) =>
    ask('/userinfo', { headers: { authorization: `Bearer token${number}` } }),
  discovery: ({ ask }) => ask('/.well-known/openid-configuration'),
  keys: ({ ask }) => ask('/jwks'),
  logouts: ({ ask }) => ask('/session/end'),
};

function post(
  { ask, origin }: FloodedHost,
  path: string,
  fields: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<EdgeAnswer> {
  return ask(path, {
    method: 'POST',
    body: new URLSearchParams(fields).toString(),
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      origin,
      'sec-fetch-site': 'same-origin',
      cookie: `__Host-postern-browser=${'b'.repeat(43)}`,
      ...headers,
    },
  });
}

function inventedAnswer(number: number): string {
  const id = Buffer.from(`credential ${number}`).toString('base64url');
  const clientDataJSON = Buffer.from(
    JSON.stringify({ type: 'webauthn.get', challenge: 'AAAA', origin: 'https://id.example.test' }),
  ).toString('base64url');
  const response = { clientDataJSON, authenticatorData: 'AAAA', signature: 'AAAA', userHandle: 'AAAA' };
  return JSON.stringify({ id, rawId: id, type: 'public-key', response });
}
