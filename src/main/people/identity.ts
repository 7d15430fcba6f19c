import type { Logger } from 'pino';
import type { IdentityAddress } from '../../config/identity-settings.ts';
import type { Config } from '../../config/schema.ts';
import type { IdentityHost, IdentityPage, IdentitySessions, ProvedPeopleReader } from '../../identity/contracts.ts';
import { IdentitySite } from '../../identity/identity-site.ts';
import { accountClaims, accountOf, PASSKEY_KIND, passkeyOf, USER_ACCOUNT_KIND } from '../../identity/people-records.ts';
import { AgentConsents, type IdentityClients } from '../../identity/provider/identity-clients.ts';
import { CookieSignature, IDENTITY_KEY_KIND, IdentityKeys } from '../../identity/provider/identity-keys.ts';
import { IdentityProvider } from '../../identity/provider/identity-provider.ts';
import { LogoutDelivery } from '../../identity/provider/logout-delivery.ts';
import { ProviderSessions } from '../../identity/provider/provider-sessions.ts';
import { periodically } from '../../lib/async/periodically.ts';
import { reportBug } from '../../lib/bug-report.ts';
import type { Clock } from '../../lib/clock.ts';
import { createGuardedFetch } from '../../lib/http/guarded-fetch.ts';
import { isLoopbackHost } from '../../lib/net/listen-address.ts';
import { localhostLookup } from '../../lib/net/localhost-lookup.ts';
import { isStoreOutage } from '../../lib/store-outage.ts';
import { subjectIdentity } from '../../lib/text/subject-identity.ts';
import type { OwnIssuer } from '../../modules/contract/own-issuer.ts';
import type { Replica } from '../../replica/replica.ts';
import { coversScopes } from '../../resources/operation.ts';
import type { Snapshots } from '../../snapshot/snapshots.ts';
import type { Store } from '../../store/store.ts';
import { moduleRecords } from '../data-plane/module-records.ts';
import { createOwnIssuer, peopleIn } from '../data-plane/own-issuer.ts';
import { ApplicationClients } from './application-clients.ts';
import { CONSOLE_CLIENT, consoleClient } from './console-client.ts';
import { identityScopes } from './console-roles.ts';
import { endConsoleSessions } from './end-console-sessions.ts';
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
