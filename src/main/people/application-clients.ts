import { OIDC_CLIENT_KIND } from '../../identity/people-records.ts';
import type { IdentityClient, IdentityClients } from '../../identity/provider/identity-clients.ts';
import type { RecordReader } from '../../replica/record-table.ts';
import type { StoredRecord } from '../../store/store.ts';

const EVERYBODY = '*';

interface ClientDoc {
  readonly name: string;
  readonly redirect_uris: readonly string[];
  readonly post_logout_redirect_uris: readonly string[];
  readonly backchannel_logout_uri: string;
  readonly allow_groups: readonly string[];
  readonly public: boolean;
  readonly internal?: { readonly secret_hash?: string };
}

/** Other applications, as `/oidc_clients` has them. */
export class ApplicationClients implements IdentityClients {
  readonly #reader: Pick<RecordReader, 'get'>;

  constructor(reader: Pick<RecordReader, 'get'>) {
    this.#reader = reader;
  }

  find(clientId: string): IdentityClient | null {
    const record = this.#reader.get(OIDC_CLIENT_KIND, clientId);
    return record === undefined ? null : clientOf(record);
  }
}

function clientOf({ id, doc }: StoredRecord): IdentityClient | null {
  const { name, public: isPublic, internal, ...client } = doc as unknown as ClientDoc;
  const secret = internal?.secret_hash;
  // A secret that is missing is no public client.
  if ((!isPublic && secret === undefined) || client.redirect_uris.length === 0) return null;
  return {
    name,
    metadata: {
      client_id: id,
      client_name: name,
      redirect_uris: [...client.redirect_uris],
      post_logout_redirect_uris: [...client.post_logout_redirect_uris],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      ...(isPublic ? { token_endpoint_auth_method: 'none' as const } : { client_secret: secret }),
    },
    admits: (groups) =>
      client.allow_groups.includes(EVERYBODY) || client.allow_groups.some((group) => groups.includes(group)),
    backChannelLogoutUri: client.backchannel_logout_uri === '' ? null : client.backchannel_logout_uri,
    agent: null,
  };
}
