import { setTimeout as sleep } from 'node:timers/promises';
import type { Health } from '../../control/api/health.ts';
import { atMost, until } from '../../kit/async/waiting.ts';
import type { EdgeDrainOptions } from '../../proxy/edge/drain-edge.ts';
import type { Membership } from '../../tunnel/nodes/membership/membership.ts';
import type { Config } from '../settings/schema.ts';
import type { MovingAgents } from './handover/hand-over.ts';
import type { CloseOptions } from './running-server.ts';

interface Draining {
  drain(timeoutMs: number): Promise<void>;
}

interface LeavingGateway {
  drain(timeoutMs: number, onTimeout: () => Promise<void>): Promise<void>;
  readonly agents: Pick<MovingAgents, 'sendAway'>;
  /** Sessions that no other node has taken over yet. */
  unmoved(): number;
}

interface LeavingNode extends Draining {
  readonly membership: Pick<Membership, 'self' | 'nodes' | 'setStatus'>;
  /** Ends the lease: the other nodes take over at once. */
  leave(): Promise<void>;
}

export interface ShutDownParts {
  readonly config: Pick<Config, 'drain_delay' | 'shutdown_timeout'>;
  readonly health: Pick<Health, 'startDraining'>;
  readonly log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
  /** Null: this server is alone. */
  readonly nodes: LeavingNode | null;
  readonly gateway: LeavingGateway | null;
  readonly edge: { drain(timeoutMs: number, options: EdgeDrainOptions): Promise<void> } | null;
  readonly api: { drain(timeoutMs: number, lingerMs: number): Promise<void> };
  closeAcme(): Promise<void>;
  /** Closes WebSockets of visitors of other nodes. */
  closeHopWebSockets(): Promise<void>;
  closeDelivery(timeoutMs: number): Promise<void>;
}

/** The database may be away, and must not delay the stop. */
const ANNOUNCE_WITHIN_MS = 1_000;
/** Agents connect elsewhere within a second or two; some cannot. */
const MOVE_WITHIN_MS = 10_000;

/**
 * The first part of a stop: balancers and other nodes hear of it, agents move to another node, listeners close,
 * requests in flight finish. They still need everything else, so links between nodes and the store are closed
 * afterwards.
 */
export async function shutDown(parts: ShutDownParts, how: CloseOptions): Promise<void> {
  const { config, health, log, gateway, edge, api } = parts;
  health.startDraining();
  log.info({ delay_seconds: config.drain_delay }, 'draining');
  const announced = announce(parts);
  // Load balancers see /healthz report it, and stop sending, before the listeners close.
  if (config.drain_delay > 0 && !how.isHandedOver) await sleep(config.drain_delay * 1000);
  await announced;
  const timeoutMs = config.shutdown_timeout * 1000;
  if (!how.isHandedOver) await moveAgents(parts, Math.min(MOVE_WITHIN_MS, timeoutMs));
  const lingerMs = how.isHandedOver ? timeoutMs / 2 : 0;
  // Nobody waits for the end of this node if visitors can go to another one.
  const keepsWebSockets = !how.isHandedOver && isAnotherReady(parts.nodes, 'edge');
  const delivered = parts.closeDelivery(timeoutMs).then(() => how.onDeliveryEnded?.());
  const served = [edge?.drain(timeoutMs, { lingerMs, keepsWebSockets }), api.drain(timeoutMs, lingerMs)];
  await Promise.all([parts.closeAcme(), ...served, delivered]);
  // Last: requests in progress went through it.
  await gateway?.drain(timeoutMs, () => parts.closeHopWebSockets());
  await leave(parts, timeoutMs);
  log.info({}, 'drained');
}

/** Other nodes name this one to no further agent. */
async function announce({ nodes, log }: ShutDownParts): Promise<void> {
  if (nodes === null) return;
  const told = nodes.membership.setStatus('draining').catch((err: unknown) => {
    log.warn({ err }, 'failed to tell other nodes that this one is stopping');
  });
  await atMost(told, ANNOUNCE_WITHIN_MS, null);
}

/**
 * The old connections of agents stay: visitors use them until the listeners are closed and the last request has ended.
 */
async function moveAgents({ nodes, gateway, log }: ShutDownParts, withinMs: number): Promise<void> {
  if (gateway === null || !isAnotherReady(nodes, 'gateway')) return;
  gateway.agents.sendAway();
  const beganMs = performance.now();
  await until(() => gateway.unmoved() === 0, withinMs);
  const fields = { unmoved: gateway.unmoved(), ms: Math.round(performance.now() - beganMs) };
  if (fields.unmoved > 0) log.warn(fields, 'some agents have not connected to another node yet');
  else log.info(fields, 'agents have moved to other nodes');
}

async function leave({ nodes, log }: ShutDownParts, timeoutMs: number): Promise<void> {
  if (nodes === null) return;
  const left = nodes.leave().catch((err: unknown) => {
    log.warn({ err }, 'failed to end the lease of this node: it ends by itself');
  });
  await atMost(left, ANNOUNCE_WITHIN_MS, null);
  await nodes.drain(timeoutMs);
}

function isAnotherReady(nodes: LeavingNode | null, role: 'edge' | 'gateway'): boolean {
  if (nodes === null) return false;
  const { self } = nodes.membership;
  return nodes.membership
    .nodes()
    .some(({ id, status, roles }) => id !== self.id && status === 'ready' && roles.includes(role));
}
