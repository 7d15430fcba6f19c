import type { Config } from '../settings/schema.ts';
import { openAccess } from './phases/access-phase.ts';
import { openCertificates } from './phases/certificates-phase.ts';
import { openControlPlane } from './phases/control-plane-phase.ts';
import { openDataPlane } from './phases/data-plane-phase.ts';
import { becomeReady, type ServerReady } from './phases/ready-phase.ts';
import { followConfiguration, openStorePhase, planStart } from './phases/store-phase.ts';
import { openTelemetry } from './phases/telemetry-phase.ts';
import type { CloseOptions, RunningServer, ServerOptions } from './running-server.ts';
import { type ShutDownParts, shutDown } from './shut-down.ts';

export type { ServerOptions } from './running-server.ts';

/**
 * The composition root: phases from top to bottom, each with what the earlier ones have opened. On a failure,
 * everything that was opened is closed in reverse.
 */
export async function startServer(config: Config, options: ServerOptions = {}): Promise<RunningServer> {
  await using opened = new AsyncDisposableStack();
  const withStore = await openStorePhase(planStart(config, options), opened);
  const following = await followConfiguration(withStore, opened);
  const withCertificates = await openCertificates(following, opened);
  const withTelemetry = await openTelemetry(withCertificates, opened);
  const withAccess = await openAccess(withTelemetry, opened);
  const withControlPlane = await openControlPlane(withAccess, opened);
  const withDataPlane = await openDataPlane(withControlPlane, opened);
  const ready = await becomeReady(withDataPlane, opened);
  return runningServer(ready, opened.move());
}

function runningServer(ready: ServerReady, opened: AsyncDisposableStack): RunningServer {
  const { config, log, store, replica, api, edge, gateway, sites, tls, sockets, addresses, baseUrl } = ready;
  let how: CloseOptions = {};
  // First to be closed: requests in flight still need everything that was opened before.
  opened.defer(() => stopServing(ready, how));
  return {
    addresses,
    baseUrl,
    bootstrapped: ready.bootstrapped,
    administratorLink: () => api.administratorLink(),
    localToken: () => api.localToken(),
    log,
    store,
    replica,
    history: ready.recorded.history,
    workers: ready.threads?.workers ?? null,
    applySites: async () => sites?.apply(),
    refreshCertificates: async () => {
      await Promise.all([tls?.refresh(), gateway?.refreshTls()]);
    },
    handover: {
      owned: ready.owned,
      sockets: () => [...sockets.list(), ...(edge?.tunnelSockets() ?? [])],
      store: { dataDir: config.data_dir, mark: () => store.mark() },
      sharing: store.sharing,
      agents: gateway?.agents ?? null,
    },
    close: (options = {}) => {
      how = options;
      return opened.disposeAsync();
    },
  };
}

async function stopServing(ready: ServerReady, how: CloseOptions): Promise<void> {
  const { config, health, logger, nodes, gateway, edge, apiListener, acme, hopWebSockets, delivery, traffic } = ready;
  delivery.refuseStart();
  ready.sites?.close();
  const parts: ShutDownParts = {
    config,
    health,
    log: logger,
    nodes,
    gateway,
    edge,
    api: apiListener,
    closeAcme: async () => acme?.close(),
    closeHopWebSockets: () => hopWebSockets.close(),
    closeDelivery: (timeoutMs) => delivery.close(timeoutMs),
  };
  // The successor reads the file before it writes one.
  if (how.isHandedOver) await traffic.kept?.stop();
  await shutDown(parts, how);
  // With the last requests, and before the threads that know them end.
  await traffic.kept?.stop();
}
