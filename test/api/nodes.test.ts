import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OPERATOR_REQUEST } from '../../src/control/bootstrap.ts';
import { nodes } from '../../src/control/resources/nodes/nodes.ts';
import type { ListedNode } from '../../src/control/resources/ports.ts';

const node = (id: string): ListedNode => ({
  ...{ id, name: `node-${id}`, version: '0.1.0', roles: ['api'], region: 'local', status: 'ready' },
  ...{ startedAtMs: 0, lastSeenAtMs: 0, peerAddress: null, agents: 0, tunnels: 0, problems: [] },
});

test('nodes are listed newest first, with no other port than the three that the resource names', async () => {
  const ports = {
    nodes: () => [node('nd_1'), node('nd_3'), node('nd_2')],
    ref: (id: string) => ({ id, uri: `http://api.test/nodes/${id}` }),
    uri: (path: string) => `http://api.test${path}`,
  };
  const list = nodes.operations.find(({ verb }) => verb === 'list');
  assert.ok(list !== undefined);
  const { body } = await list.run({ ...OPERATOR_REQUEST, query: { limit: '2' }, body: {} }, ports);
  const shown = body?.['nodes'] as readonly { readonly id: string }[];
  assert.deepEqual(
    shown.map(({ id }) => id),
    ['nd_3', 'nd_2'],
  );
  assert.equal(body?.['next_page_uri'], 'http://api.test/nodes?before_id=nd_2&limit=2');
  const withoutNodes = { ref: ports.ref, uri: ports.uri };
  // @ts-expect-error the resource names a port that is missing
  await assert.rejects(async () => list.run({ ...OPERATOR_REQUEST, body: {} }, withoutNodes), TypeError);
});
