import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EdgeDrainOptions } from '../../proxy/edge/drain-edge.ts';
import type { NodeRow, NodeStatus } from '../../tunnel/nodes/node.ts';
import { type ShutDownParts, shutDown } from './shut-down.ts';

function row(id: string, status: NodeStatus, roles: readonly string[] = ['edge', 'gateway']): NodeRow {
  const facts = {
    id,
    name: id,
    version: '1',
    roles,
    region: 'local',
    startedAtMs: 0,
    peerAddress: null,
    tunnelAddress: null,
  };
  return { ...facts, status, lastSeenAtMs: 0, leaseEndsAtMs: 0, agents: 0, tunnels: 0, problems: [] };
}

const SELF = row('nd_1', 'ready');

interface WorldOptions {
  readonly others?: readonly NodeRow[] | null;
  readonly drainDelay?: number;
  /** Agents that have not moved, each time they are counted. */
  readonly unmoved?: readonly number[];
  readonly setStatus?: () => Promise<void>;
}

/** Records the order of the steps. */
function world({ others = null, drainDelay = 0, unmoved = [0], setStatus }: WorldOptions = {}) {
  const steps: string[] = [];
  const counts = [...unmoved];
  const draining = (name: string) => ({
    drain: async (_timeoutMs: number, how: number | EdgeDrainOptions = 0) => {
      const { lingerMs = 0, keepsWebSockets = false } = typeof how === 'number' ? { lingerMs: how } : how;
      steps.push(`${name} drains${lingerMs === 0 ? '' : ' slowly'}${keepsWebSockets ? ' with its WebSockets' : ''}`);
      await sleep(1);
      steps.push(`${name} drained`);
    },
  });
  const parts: ShutDownParts = {
    config: { drain_delay: drainDelay, shutdown_timeout: 0.2 },
    health: { startDraining: () => void steps.push('not ready') },
    log: { info: (_fields, message) => steps.push(message), warn: (_fields, message) => steps.push(message) },
    nodes:
      others === null
        ? null
        : {
            ...draining('links'),
            leave: async () => void steps.push('lease ended'),
            membership: {
              self: SELF,
              nodes: () => [SELF, ...others],
              setStatus: async (status) => {
                steps.push(`status ${status}`);
                await setStatus?.();
              },
            },
          },
    gateway: {
      drain: async (timeoutMs, onTimeout) => {
        await draining('gateway').drain(timeoutMs);
        await onTimeout();
      },
      agents: {
        sendAway: () => {
          steps.push('agents are asked to move');
          return [];
        },
      },
      unmoved: () => (counts.length > 1 ? (counts.shift() ?? 0) : (counts[0] ?? 0)),
    },
    edge: draining('edge'),
    api: draining('API'),
    closeAcme: async () => {},
    closeHopWebSockets: async () => void steps.push('WebSockets of other nodes close'),
    closeDelivery: async () => {},
  };
  return { steps, parts };
}

const AFTER_EDGE = [
  'API drains',
  'edge drained',
  'API drained',
  'gateway drains',
  'gateway drained',
  'WebSockets of other nodes close',
];
const TRAFFIC = ['edge drains', ...AFTER_EDGE];
const LINKS = ['lease ended', 'links drains', 'links drained', 'drained'];
const LEAVES = ['edge drains with its WebSockets', ...AFTER_EDGE, ...LINKS];

test('a server that is alone closes its listeners, and keeps its agents until the last request', async () => {
  const { steps, parts } = world();
  await shutDown(parts, {});
  assert.deepEqual(steps, ['not ready', 'draining', ...TRAFFIC, 'drained']);
});

test('moves agents after other nodes know, and before the listeners close', async () => {
  const { steps, parts } = world({ others: [row('nd_2', 'ready')], unmoved: [2, 1, 1, 0] });
  await shutDown(parts, {});
  assert.deepEqual(steps, [
    'not ready',
    'draining',
    'status draining',
    'agents are asked to move',
    'agents have moved to other nodes',
    ...LEAVES,
  ]);
});

test('keeps agents when no other node accepts any, and WebSockets when one serves visitors', async () => {
  const { steps, parts } = world({ others: [row('nd_2', 'ready', ['edge'])] });
  await shutDown(parts, {});
  assert.deepEqual(steps, ['not ready', 'draining', 'status draining', ...LEAVES]);
});

test('keeps neither agents nor WebSockets waiting for a node that cannot take over', async () => {
  for (const others of [[], [row('nd_2', 'lost')], [row('nd_2', 'draining')], [row('nd_2', 'ready', ['api'])]]) {
    const { steps, parts } = world({ others });
    await shutDown(parts, {});
    assert.deepEqual(steps, ['not ready', 'draining', 'status draining', ...TRAFFIC, ...LINKS]);
  }
});

test('stops although agents do not move, and the database is away', async () => {
  const { steps, parts } = world({
    others: [row('nd_2', 'ready')],
    unmoved: [1],
    setStatus: () => Promise.reject(new Error('no database')),
  });
  await shutDown(parts, {});
  assert.ok(steps.includes('failed to tell other nodes that this one is stopping'));
  assert.ok(steps.includes('some agents have not connected to another node yet'));
  assert.deepEqual(steps.slice(-LEAVES.length), LEAVES);
});

test('is not ready for the whole delay before anything moves or closes', async () => {
  const { steps, parts } = world({ others: [row('nd_2', 'ready')], drainDelay: 0.05 });
  const began = performance.now();
  const done = shutDown(parts, {});
  assert.deepEqual(steps, ['not ready', 'draining', 'status draining']);
  await done;
  assert.ok(performance.now() - began >= 45);
});

test('leaves agents alone when another process on this machine has taken them over', async () => {
  const { steps, parts } = world({ others: [row('nd_2', 'ready')], drainDelay: 60 });
  await shutDown(parts, { isHandedOver: true });
  assert.ok(!steps.includes('agents are asked to move'));
  assert.ok(steps.includes('edge drains slowly'));
});
