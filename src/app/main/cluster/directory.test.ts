import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeNetwork } from '../../../../test/nodes/support/fake-network.ts';
import { NO_TUNNELS } from '../../../proxy/edge/tunnels/tunnel-traffic.ts';
import type { NodeRow, NodeStatus } from '../../../tunnel/nodes/node.ts';
import { openDirectory } from './directory.ts';

function row(id: string, status: NodeStatus): NodeRow {
  const facts = { id, name: id, version: '1', roles: [], region: '', startedAtMs: 0, tunnelAddress: null };
  const seen = { lastSeenAtMs: 0, leaseEndsAtMs: 0, agents: 0, tunnels: 0, problems: [] };
  return { ...facts, ...seen, peerAddress: `${id}:1`, status };
}

test('visitors of a node that woke without its lease wait, although every other node looks lost to it', async (t) => {
  const network = new FakeNetwork();
  const node = { mayServe: true, other: 'ready' as NodeStatus };
  const opened = openDirectory({
    membership: {
      self: row('a', 'ready'),
      nodes: () => [row('a', 'ready'), row('b', node.other)],
      mayServe: () => node.mayServe,
      setProblem: () => {},
    },
    links: network.join('a'),
    local: NO_TUNNELS.online,
    nodes: { getSession: async () => null, getClaim: async () => null },
    replica: { get: () => undefined },
    logger: { warn: () => {} },
  });
  t.after(() => opened.close());
  const { tunnels } = opened;
  assert.equal(tunnels.isUnsettled, true, 'ready, and not linked yet');
  node.other = 'lost';
  assert.equal(tunnels.isUnsettled, false, 'lost, as the database says');
  node.mayServe = false;
  assert.equal(tunnels.isUnsettled, true, 'lost by an old reading');
});
