import type { PeerHealth } from '../../control/api/health.ts';
import { Changes } from '../../control/documents/history/changes.ts';
import type { HistoryChain } from '../../control/documents/history/history-chain.ts';
import type { OperationPorts } from '../../control/documents/operations.ts';
import { routeLogins } from '../../control/documents/route-logins.ts';
import { Search } from '../../control/documents/search.ts';
import { liveEvent } from '../../control/resources/live-operations.ts';
import { TargetTester } from '../../proxy/upstream/target-tester.ts';
import type { ApiDependencies, DocumentsOpened } from './api-documents.ts';
import { onlineInStore } from './cluster/directory.ts';
import { loginLimits } from './people/logins.ts';
import { openProblems } from './problems.ts';

/** What operations use beside the documents. */
export function operationPorts(deps: ApiDependencies, opened: DocumentsOpened, chain: HistoryChain): OperationPorts {
  const { config, store, replica, catalog, clock } = deps;
  const { context, documents, changesets, renderer, hostCertificates, newId, newToken, settings, isWanted } = opened;
  const { modules } = catalog;
  const learningClient = routeLogins({ replica, modules, moduleSettings: config.moduleSettings });
  const online = deps.online ?? onlineInStore(store, clock);
  const ref: OperationPorts['ref'] = (id, parentId) => renderer.ref(id, parentId);
  const eventPorts = { ref, clock, newId, accountId: store.accountId, isWanted };
  return {
    ...{ documents, changesets, store, clock, learningClient, modules, online, hostCertificates, newId, ref },
    changes: new Changes(context, store.history, chain),
    search: new Search(catalog, replica, renderer, store.logins),
    problems: problemsOf(deps, { hostCertificates, learningClient, online, ref }),
    sessionCommands: deps.sessionCommands ?? { send: () => Promise.resolve('unreachable') },
    nodes: () => deps.nodes?.membership.nodes() ?? [],
    requests: deps.requests ?? NO_REQUESTS,
    traffic: deps.traffic?.series ?? NO_TRAFFIC,
    settings: () => deps.settings ?? [],
    configFile: () => deps.configFile ?? null,
    targetTester: new TargetTester({
      clock,
      connectTimeoutMs: config.upstream_connect_timeout * 1000,
      isAddressAllowed: deps.isBackendAllowed,
    }),
    addressLists: deps.addressLists ?? NO_LISTS,
    explain: deps.explain ?? (() => Promise.reject(new Error('no requests are served here'))),
    get destinationTester() {
      return deps.destinationTester?.() ?? null;
    },
    eventTypes: catalog.eventTypes,
    region: config.region,
    loginLimits: loginLimits(replica, modules, config),
    uri: (path) => renderer.uri(path),
    liveEvent: (type, object, apiKeyId) => liveEvent(type, object, apiKeyId, eventPorts),
    people: { identity: settings.identity, newToken },
  };
}

function problemsOf(
  deps: ApiDependencies,
  known: Pick<OperationPorts, 'hostCertificates' | 'learningClient' | 'online' | 'ref'>,
): OperationPorts['problems'] {
  const { config, store, replica, catalog, clock, problems, nodes } = deps;
  const { modules, kindOfId } = catalog;
  return openProblems({
    ...{ ...known, replica, config, clock, store, problems, modules, kindOfId },
    addressLists: deps.addressLists ?? NO_LISTS,
    isAddressAllowed: deps.isAddressAllowed,
    isOwnApi: deps.isOwnApi,
    whyForbidden: deps.whyForbidden,
    nodes: () => nodes?.membership.nodes() ?? [],
    peers: () => peersOf(nodes),
  });
}

const NO_TRAFFIC: OperationPorts['traffic'] = {
  points: async () => ({ points: [], nodes: [] }),
  routes: async () => ({ routes: [], nodes: [] }),
};

const NO_LISTS: OperationPorts['addressLists'] = {
  state: () => ({
    ...{ status: 'missing', entries: 0, skippedLines: 0, loadedAtMs: null, checkedAtMs: null },
    error: 'lists are not loaded here',
  }),
  refresh: () => Promise.resolve(),
};

const NO_REQUESTS: OperationPorts['requests'] = {
  find: async () => ({ requests: [], nodes: [] }),
  list: async () => ({ requests: [], nodes: [] }),
};

/** Health of the connections to the other nodes. */
export function peersOf(nodes: ApiDependencies['nodes']): readonly PeerHealth[] {
  if (nodes === undefined) return [];
  const { membership, links } = nodes;
  return membership
    .nodes()
    .filter(({ id }) => id !== membership.self.id)
    .map(({ id, name, status }) => {
      if (links?.get(id) !== undefined) return { name, status: 'linked' };
      return { name, status: status === 'lost' ? 'lost' : 'unreachable' };
    });
}
