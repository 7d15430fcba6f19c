import { type Bootstrapped, bootstrap } from '../../../control/bootstrap.ts';
import { openAlerts } from '../alerts.ts';
import type { RunningServer } from '../running-server.ts';
import { Sites } from '../sites.ts';
import { listenedAddresses, readyAddresses } from '../sockets/listened-addresses.ts';
import { programVersion } from '../version.ts';
import type { DataPlaneOpened } from './data-plane-phase.ts';

export interface ServerReady extends DataPlaneOpened {
  readonly bootstrapped: Bootstrapped;
  /** Null: the setting `sites` names no file. */
  readonly sites: Sites | null;
  readonly addresses: RunningServer['addresses'];
}

/** Events are delivered, alerts raised, and visitors admitted. */
export async function becomeReady(earlier: DataPlaneOpened, opened: AsyncDisposableStack): Promise<ServerReady> {
  const { options, api, nodes, delivery, predecessor } = earlier;
  const suspendDestination = (id: string): Promise<void> => api.suspendDestination(id);
  if (predecessor === null) await delivery.start(suspendDestination);
  opened.defer(() => delivery.close(0));
  const alerts = openAlerts(earlier);
  opened.defer(() => alerts.close());
  const isTerminal = options.isTerminal ?? false;
  const bootstrapped = await bootstrap({ ...earlier, port: api.bootstrapPort, isTerminal });

  await admitVisitors(earlier);
  if (predecessor === null) await nodes.acceptAgents();
  else followPredecessor(earlier, () => delivery.start(suspendDestination));
  const sites = openSites(earlier);
  await sites?.apply();
  const addresses = addressesOf(earlier);
  reportReady(earlier, addresses);
  return { ...earlier, bootstrapped, sites, addresses };
}

/** Visitors of a process that takes over come when the other one lets them. */
async function admitVisitors(earlier: DataPlaneOpened): Promise<void> {
  const { nodes, directory, edge, health, predecessor, sockets, gateway } = earlier;
  nodes.start();
  await directory.known().then(() => edge?.admit());
  health.becomeReady();
  await predecessor?.takeOver({
    acceptAgents: () => sockets.start('tunnel').then(() => nodes.acceptAgents()),
    missingTunnels: (wanted) => gateway?.missing(wanted) ?? 0,
    serve: () => sockets.start(),
  });
}

/** What the process before this one keeps until its end. */
function followPredecessor(earlier: DataPlaneOpened, deliver: () => Promise<void>): void {
  const { predecessor, logger, nodes, sockets } = earlier;
  // One process at a time: both would append to the files of events.
  void predecessor
    ?.deliveryEnded()
    .then(deliver)
    .catch((err: unknown) => logger.error({ err }, 'failed to start the delivery of events'));
  void predecessor?.gone.then(() => nodes.takePeerSocket()).then(() => sockets.closeUnused());
}

function openSites({ config, api, membership, logger }: DataPlaneOpened): Sites | null {
  if (config.sites === null) return null;
  return new Sites({
    ...{ path: config.sites, mayShrink: config.sites_may_shrink, env: process.env },
    ...{ call: api.operatorCall, membership, logger },
  });
}

function addressesOf({ apiListener, edge, gateway, nodes }: DataPlaneOpened): RunningServer['addresses'] {
  const tunnel = gateway?.address ?? null;
  return listenedAddresses({ api: apiListener.address, edge, tunnel, peer: nodes.peerAddress });
}

/** Printed at any log level for supervisors, which wait for it. A person at a terminal reads the address elsewhere. */
function reportReady(earlier: DataPlaneOpened, addresses: RunningServer['addresses']): void {
  const { config, options, logger, store, baseUrl } = earlier;
  const isRead = options.logDestination === undefined && process.stdout.isTTY;
  const facts = {
    addresses: readyAddresses(addresses),
    base_url: baseUrl,
    version: programVersion(),
    data_dir: config.data_dir,
    engine: store.engine,
    roles: config.roles,
  };
  // `postern up` prints the result itself.
  if (isRead && options.isTerminal !== true) logger.debug(facts, 'ready');
  else if (isRead) logger.info(facts, 'ready');
  else logger.child({}, { level: 'info' }).info(facts, 'ready');
}
