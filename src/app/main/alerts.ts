import { statfs } from 'node:fs/promises';
import type { Logger } from 'pino';
import type { Catalog } from '../../control/documents/catalog.ts';
import { AlertWatch } from '../../control/findings/alert-watch.ts';
import { allPages } from '../../control/resources/paging.ts';
import type { OnlinePort } from '../../control/resources/ports.ts';
import type { Clock } from '../../kit/clock.ts';
import type { DescriptorBudget } from '../../kit/process/descriptor-budget.ts';
import { createKsuidSource } from '../../kit/text/ksuid.ts';
import type { Module } from '../../modules/contract/module.ts';
import { settingsOf } from '../../modules/module-settings.ts';
import type { BackendTraffic } from '../../proxy/telemetry/metrics/backend-traffic.ts';
import type { Replica } from '../../store/replica/replica.ts';
import type { Store } from '../../store/store.ts';
import type { Membership } from '../../tunnel/nodes/membership/membership.ts';
import type { Config } from '../settings/schema.ts';
import { onlineInStore } from './cluster/directory.ts';
import type { WatchedStates } from './data-plane/watched-states.ts';

export interface AlertDependencies {
  readonly config: Config;
  readonly store: Store;
  readonly replica: Replica;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly nodes: { readonly membership: Membership; readonly links: object | null };
  readonly directory: { readonly online: OnlinePort };
  readonly backendTraffic: BackendTraffic;
  readonly watchedStates: Pick<WatchedStates, 'routesIn'>;
  readonly descriptors: DescriptorBudget;
  readonly baseUrl: string;
}

const SECOND_MS = 1_000;

/** Raises and resolves alerts from what this process knows. */
export function openAlerts(deps: AlertDependencies): AlertWatch {
  const { config, store, replica, catalog, clock, logger, backendTraffic, descriptors, baseUrl } = deps;
  const { membership, links } = deps.nodes;
  // A server that is linked to no other one knows the agents of others only through the store.
  const online = links === null ? onlineInStore(store, clock) : deps.directory.online;
  const ksuid = createKsuidSource();
  return new AlertWatch({
    store,
    replica,
    clock,
    node: membership.self.name,
    limits: {
      agentAwayMs: config.alert_agent_away * SECOND_MS,
      backendFailingMs: config.alert_backend_failing * SECOND_MS,
      certificateDays: config.alert_certificate_days,
      deliveryStuckMs: config.alert_delivery_stuck * SECOND_MS,
      descriptorPercent: config.alert_descriptor_percent,
      diskPercent: config.alert_disk_percent,
      nodeLostMs: config.alert_node_lost * SECOND_MS,
      ofModules: limitsOfModules(catalog.modules, config),
    },
    isLooking: () => isFirstNode(membership),
    sources: {
      resource: (id) => replica.get(catalog.kindOfId(id) ?? '', id),
      nodes: () => membership.nodes(),
      agents: async () => {
        const sessions = await allPages((query) => online.list('tunnel_session', query));
        return sessions.map(({ credentialId, doc }) => ({
          credentialId: credentialId ?? '',
          metadata: (doc['metadata'] ?? '') as string,
        }));
      },
      farewells: async () => {
        const nowMs = clock.nowMs();
        const leases = await allPages((query) => store.presence.list('farewell', { ...query, nowMs }));
        return leases.map(({ credentialId, doc }) => ({
          credentialId: credentialId ?? '',
          metadata: (doc['metadata'] ?? '') as string,
        }));
      },
      lanes: () => store.deliveries.ledger(),
      descriptors: () => descriptors,
      diskPercent: () => usedPercent(config.data_dir),
      backendTraffic: () => backendTraffic.take(),
      routesIn: (code) => deps.watchedStates.routesIn(code),
    },
    newId: (prefix) => `${prefix}_${ksuid(clock.nowMs())}`,
    ref: (id) => ({ id, uri: `${baseUrl}/alerts/${id}` }),
    onProblem: (err) => logger.error({ err }, 'failed to look for alerts'),
  });
}

/** When the states that modules have watched are alerts, by the code. */
function limitsOfModules(
  modules: readonly Module[],
  { moduleSettings }: Pick<Config, 'moduleSettings'>,
): ReadonlyMap<string, number> {
  return new Map(
    modules.flatMap((module) => {
      const alert = module.watched?.alert;
      if (alert === undefined) return [];
      const settings: Readonly<Record<string, unknown>> = settingsOf(moduleSettings, module);
      return [[alert.code, (settings[alert.setting] as number) * SECOND_MS]];
    }),
  );
}

/** The oldest ready node. A node whose lease has ended cannot know whether it still is. */
function isFirstNode(membership: Membership): boolean {
  const ready = membership.nodes().filter(({ status }) => status === 'ready');
  const [first] = ready.map(({ id }) => id).sort();
  return first === membership.self.id && membership.mayServe();
}

/** As `df` shows it: blocks that are reserved for root do not count as free. */
async function usedPercent(folder: string): Promise<number> {
  const { blocks, bfree, bavail } = await statfs(folder);
  const used = blocks - bfree;
  return used + bavail === 0 ? 0 : (100 * used) / (used + bavail);
}
