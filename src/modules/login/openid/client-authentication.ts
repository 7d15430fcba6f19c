import { type ClientAuth, ClientSecretPost, None, type ServerMetadata } from 'openid-client';
import { LoginProblem } from '../provider/login-problem.ts';

/**
 * How the client authenticates at the token endpoint: as the provider announces, `client_secret_basic` before `_post`.
 */
export function clientAuthentication(metadata: ServerMetadata, secret: string): ClientAuth {
  if (secret === '') return None();
  // OpenID Connect Discovery 1.0 §3: the default is client_secret_basic.
  const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  if (methods.includes('client_secret_basic')) return basic(secret);
  if (methods.includes('client_secret_post')) return ClientSecretPost(secret);
  throw new LoginProblem(
    'configuration',
    'client_authentication',
    `${metadata.issuer} accepts neither client_secret_basic nor client_secret_post`,
  );
}

/**
 * RFC 6749 §2.3.1. The library's own form also encodes `-`, `_` and `.`, which is correct, but rejected by providers
 * that compare without decoding; the form encoding of URLs leaves these as they are, and decodes to the same.
 */
function basic(secret: string): ClientAuth {
  return (_server, client, _body, headers) => {
    const credentials = `${formEncoded(client.client_id)}:${formEncoded(secret)}`;
    headers.set('authorization', `Basic ${Buffer.from(credentials).toString('base64')}`);
  };
}

function formEncoded(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}
