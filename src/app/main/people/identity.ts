import type { Logger } from 'pino';
import type {
  IdentityAddress,
  IdentityHost,
  IdentityPage,
  IdentitySessions,
  ProvedPeopleReader,
} from '../../../control/identity/contracts.ts';
import { IdentitySite } from '../../../control/identity/identity-site.ts';
import {
  accountClaims,
  accountOf,
  OIDC_CLIENT_KIND,
  PASSKEY_KIND,
  passkeyOf,
  USER_ACCOUNT_KIND,
} from '../../../control/identity/people-records.ts';
import {
  AgentConsents,
  type IdentityClient,
  type IdentityClients,
} from '../../../control/identity/provider/identity-clients.ts';
import { CookieSignature, IDENTITY_KEY_KIND, IdentityKeys } from '../../../control/identity/provider/identity-keys.ts';
import { IdentityProvider } from '../../../control/identity/provider/identity-provider.ts';
import { LogoutDelivery } from '../../../control/identity/provider/logout-delivery.ts';
import { ProviderSessions } from '../../../control/identity/provider/provider-sessions.ts';
import { CONSOLE_SESSION_KIND, sessionOf } from '../../../control/resources/console-session-record.ts';
import { coversScopes } from '../../../control/resources/scopes.ts';
import { periodically } from '../../../kit/async/waiting.ts';
import type { Clock } from '../../../kit/clock.ts';
import { isStoreOutage } from '../../../kit/error-text.ts';
import { reportBug } from '../../../kit/guarded-listeners.ts';
import { createGuardedFetch } from '../../../kit/http/guarded-fetch.ts';
import { isLoopbackHost } from '../../../kit/net/listen-address.ts';
import { localhostLookup } from '../../../kit/net/lookups.ts';
import { subjectIdentity } from '../../../kit/text/secrets.ts';
import type { OwnIssuer } from '../../../modules/contract/own-issuer.ts';
import type { Snapshots } from '../../../proxy/snapshot/snapshots.ts';
import type { RecordReader } from '../../../store/replica/record-table.ts';
import type { Replica } from '../../../store/replica/replica.ts';
import type { Store, StoredRecord } from '../../../store/store.ts';
import type { Config } from '../../settings/schema.ts';
import { moduleRecords } from '../data-plane/module-runtimes.ts';
import { createOwnIssuer, peopleIn } from '../data-plane/own-issuer.ts';
import { CONSOLE_CLIENT, consoleClient, identityScopes } from './console-people.ts';
import { RouteClients } from './route-clients.ts';

export interface IdentityDependencies {
  readonly config: Config;
  readonly store: Store;
  readonly replica: Replica;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Where back-channel logouts may go. */
  readonly isAddressAllowed: (ip: string, port: number) => boolean;
  /** Credential of the agent that publishes an address on any node; null: it is not online. */
  readonly credentialOf: (endpointId: string) => string | null;
  /** URL of the API, where the console is. */
  readonly baseUrl: string;
  /** Every scope that an API key can have. */
  readonly scopes: readonly string[];
}

export interface OpenedIdentity {
  /** For logins on routes and in the console. */
  readonly ownIssuer: OwnIssuer;
  readonly sessions: IdentitySessions;
  hostWith(pages: readonly IdentityPage[]): IdentityHost;
  /** Edges as traffic sees them: each with a login here is a client. */
  follow(snapshots: Snapshots): void;
  close(): Promise<void>;
}

const ROTATE_EVERY_MS = 10 * 60_000;
const HOUR_SECONDS = 3_600;

/** Postern's own OpenID provider: loaded only where identity is on. */
export async function openIdentity(
  { issuer, hostname }: IdentityAddress,
  deps: IdentityDependencies,
): Promise<OpenedIdentity> {
  const { config, store, replica, clock, logger } = deps;
  const clientSecretOf = (clientId: string): string => store.mac('identity-client', clientId);
  const routes = new RouteClients({ issuer, reader: replica, credentialOf: deps.credentialOf, clientSecretOf });
  const applications = new ApplicationClients(replica);
  const clients: IdentityClients = {
    find: (clientId, askedUris) =>
      clientId === CONSOLE_CLIENT
        ? consoleClient(deps.baseUrl, clientSecretOf(clientId))
        : (routes.find(clientId, askedUris) ?? applications.find(clientId)),
  };
  const consoleScopesOf = identityScopes(config, deps.scopes);
  const people: ProvedPeopleReader = {
    ...peopleIn(replica),
    isEnough: (accountId, passkeyId) => {
      const [account, passkey] = [replica.get(USER_ACCOUNT_KIND, accountId), replica.get(PASSKEY_KIND, passkeyId)];
      const wanted = account === undefined ? [] : consoleScopesOf(accountClaims(accountOf(account)));
      return coversScopes(passkey === undefined ? [] : passkeyOf(passkey).inviter_scopes, wanted);
    },
  };
  const keys = new IdentityKeys(
    moduleRecords({ name: 'identity', recordKinds: [IDENTITY_KEY_KIND] }, store, replica),
    clock,
  );
  await keys.rotate().catch((err: unknown) => {
    // A read-only store is no reason not to start while there is a key to sign with.
    if (keys.current().jwks.length === 0) throw err;
    logger.error({ err }, 'failed to rotate the keys of the identity host');
  });
  const signature = new CookieSignature((purpose, data) => store.mac(purpose, data));
  const consents = new AgentConsents({ store: store.identity, clock });
  const shared = { store: store.identity, people, clients, clock, signature, consents };
  const sessionSeconds = config.identity_session_hours * HOUR_SECONDS;
  const provider = new IdentityProvider({
    ...shared,
    issuer,
    host: issuer.slice('https://'.length),
    keys,
    sealer: store,
    endConsoleSessions: (sid, clientId) => endConsoleSessions(sid, clientId, { ...deps, issuer }),
    sessionSeconds,
    fetch: createGuardedFetch({
      isAddressAllowed: deps.isAddressAllowed,
      isPlainHttpAllowed: isLoopbackHost,
      lookup: localhostLookup,
    }),
    onProblem: (error) => {
      if (isStoreOutage(error)) logger.error({ err: error }, 'the store of logins is unavailable');
      else reportBug(error, { part: 'identity host' });
    },
  });
  const personKey = (id: string) => ({ kind: USER_ACCOUNT_KIND, id });
  const sessions = new ProviderSessions({
    ...shared,
    provider,
    sessionSeconds,
    personKey,
    clientAt: (host) => routes.at(host),
    endLogins: async (accountId, clientId) => {
      const identity = subjectIdentity(issuer, accountId);
      await store.logins.endByProvider({ issuer, clientId, identity, providerSessionId: null, token: null });
    },
  });
  const rotate = async (): Promise<void> => {
    try {
      await keys.rotate();
    } catch (err) {
      // The store reports its outages itself.
      if (!isStoreOutage(err)) logger.error({ err }, 'failed to rotate the keys of the identity host');
    }
  };
  const rotation = periodically(rotate, ROTATE_EVERY_MS);
  const delivery = new LogoutDelivery({ provider, store: store.identity, clock, isStoreOutage, log: logger });
  return {
    sessions,
    hostWith: (pages) => new IdentitySite(hostname, provider, pages),
    ownIssuer: createOwnIssuer({
      issuer,
      reader: replica,
      mac: (purpose, data) => store.mac(purpose, data),
      serve: (request) => provider.serve(request),
    }),
    follow: (snapshots) => routes.follow(snapshots),
    close: async () => {
      await rotation.close();
      await delivery.close();
    },
  };
}

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

interface Ports {
  readonly issuer: string;
  readonly config: Pick<Config, 'console_oidc_client_id'>;
  readonly replica: Pick<Replica, 'all'>;
  readonly store: Pick<Store, 'commit'>;
}

/** Ends what the console opened with a session at the identity host. `clientId`: see `IdentityProviderOptions`. */
export async function endConsoleSessions(
  providerSessionId: string,
  clientId: string | null,
  { issuer, config, replica, store }: Ports,
): Promise<void> {
  if (clientId !== null && clientId !== (config.console_oidc_client_id ?? CONSOLE_CLIENT)) return;
  const opened = [...replica.all(CONSOLE_SESSION_KIND)].filter((record) => {
    const { who } = sessionOf(record);
    return who.kind === 'person' && who.issuer === issuer && who.providerSessionId === providerSessionId;
  });
  // One by one: another node may have deleted some.
  for (const { kind, id } of opened) await store.commit({ deletes: [{ kind, id }] });
}
