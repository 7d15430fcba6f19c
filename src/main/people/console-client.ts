import type { IdentityClient } from '../../identity/provider/identity-clients.ts';
import { hashToken } from '../../lib/text/token-hash.ts';

/** Client id of the console at the identity host. No record has such an id. */
export const CONSOLE_CLIENT = 'postern-console';

/** The console as an application of the identity host; its roles decide who may log in. */
export function consoleClient(baseUrl: string, secret: string): IdentityClient {
  return {
    name: 'Postern console',
    metadata: {
      client_id: CONSOLE_CLIENT,
      client_secret: hashToken(secret),
      redirect_uris: [`${baseUrl}/console/callback`],
      grant_types: ['authorization_code'],
      response_types: ['code'],
    },
    admits: () => true,
    backChannelLogoutUri: null,
    agent: null,
  };
}
