import { type OthersWrites, othersWrites } from '../../../control/api/others-writes.ts';
import type { ForbiddenUpstream } from '../../../control/findings/facts.ts';
import { type IdentityAddress, identityAddress } from '../../../control/identity/contracts.ts';
import type { ModuleNetwork } from '../../../modules/contract/keeps-state.ts';
import type { LoginRecords } from '../../../modules/contract/login-store.ts';
import type { OwnIssuer } from '../../../modules/contract/own-issuer.ts';
import { OwnAddresses, upstreamGuard } from '../../../proxy/upstream/upstream-guard.ts';
import { type OpenedLists, openAddressLists } from '../address-lists.ts';
import { backendGuard } from '../data-plane/data-plane.ts';
import { createNodeMemories, MAIN_THREAD, type NodeMemories } from '../data-plane/module-runtimes.ts';
import { forbiddenUpstream } from '../data-plane/route-upstreams.ts';
import { WatchedStates } from '../data-plane/watched-states.ts';
import { Explainer } from '../explainer.ts';
import type { OpenedIdentity } from '../people/identity.ts';
import { loadIdentity } from '../people/load-identity.ts';
import { moduleLogins } from '../people/logins.ts';
import type { TelemetryOpened } from './telemetry-phase.ts';

/** Where this server may connect. */
interface Guards {
  /** Our own addresses, which an upstream may not use: a request must not come back in. */
  readonly own: OwnAddresses;
  /** For everything but backends. */
  readonly isAddressAllowed: ModuleNetwork['isAddressAllowed'];
  readonly isBackendAllowed: ModuleNetwork['isAddressAllowed'];
  /** Why the edge may not connect to this upstream. */
  readonly whyForbidden: (upstream: string) => ForbiddenUpstream | null;
}

/** The host of Postern's own OpenID provider. */
export interface IdentityOpened extends OpenedIdentity {
  readonly address: IdentityAddress;
}

export interface AccessOpened extends TelemetryOpened, Guards {
  readonly lists: OpenedLists;
  /** Null: it is off. */
  readonly identity: IdentityOpened | null;
  readonly ownIssuer: OwnIssuer | null;
  readonly logins: LoginRecords;
  readonly others: OthersWrites;
  readonly nodeMemories: NodeMemories;
  readonly explainer: Explainer;
  readonly watchedStates: WatchedStates;
}

/** What decides about requests beside the routes: addresses, people, logins. */
export async function openAccess(earlier: TelemetryOpened, opened: AsyncDisposableStack): Promise<AccessOpened> {
  const { config, store, replica, news, catalog, registry, clock, directory, membership } = earlier;
  const guards = openGuards(earlier);
  const lists = await openAddressLists({ ...earlier, own: guards.own });
  opened.defer(() => lists.close());
  const identity = await openIdentityHost(earlier, guards);
  opened.defer(() => identity?.close());
  const logins = moduleLogins(store, news);
  const others = othersWrites(store, replica, news);
  const ownIssuer = identity?.ownIssuer ?? null;
  const nodeMemories = createNodeMemories(catalog.modules, config.moduleSettings);
  const explainer = opened.adopt(
    new Explainer({
      ...{ ...earlier, logins, others, ownIssuer, nodeMemories, thread: MAIN_THREAD },
      tunnels: directory.tunnels,
      mayServeNames: () => membership.mayServe(),
      isForbidden: (upstream) => guards.whyForbidden(upstream) !== null,
      sessions: store.logins,
      node: membership.self.name,
    }),
    (it) => it.close(),
  );
  const watchedStates = new WatchedStates({ modules: catalog.modules, replica, memories: nodeMemories, clock });
  watchedStates.addMetrics(registry);
  return { ...earlier, ...guards, lists, identity, ownIssuer, logins, others, nodeMemories, explainer, watchedStates };
}

function openGuards({ config, apiListener }: TelemetryOpened): Guards {
  const own = new OwnAddresses();
  own.addApi(apiListener.address);
  const isBackendAllowed = backendGuard(config, own);
  return {
    own,
    isAddressAllowed: upstreamGuard(config.upstream_allow_cidrs, own),
    isBackendAllowed,
    whyForbidden: forbiddenUpstream(own, isBackendAllowed),
  };
}

async function openIdentityHost(
  earlier: TelemetryOpened,
  { isAddressAllowed }: Pick<Guards, 'isAddressAllowed'>,
): Promise<IdentityOpened | null> {
  const { config, catalog, directory } = earlier;
  const address = identityAddress(config.identity_host);
  if (address === null) return null;
  const { openIdentity } = await loadIdentity();
  const identity = await openIdentity(address, {
    ...earlier,
    scopes: catalog.scopes,
    credentialOf: (endpointId) => directory.credentialOf(endpointId),
    isAddressAllowed,
  });
  return { ...identity, address };
}
