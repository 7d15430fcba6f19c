import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeGatewayMessage } from './messages.ts';
import { MAX_OTHER_NODES } from './protocol.ts';

const WELCOME = {
  t: 'welcome',
  session: 'ts_1',
  secret: null,
  generation: 1,
  region: 'local',
  connections: 2,
  resumed: false,
};
const OTHER = { id: 'nd_2', name: 'two', address: 'two.example.com:7444' };

function isRead(message: object): boolean {
  const decoded = decodeGatewayMessage(JSON.stringify(message));
  return decoded.ok && 'message' in decoded;
}

test('reads a welcome of a server that is no node, and of one that names others', () => {
  assert.ok(isRead(WELCOME));
  assert.ok(isRead({ ...WELCOME, node: { id: 'nd_1', name: 'one' }, nodes: [OTHER, { ...OTHER, address: null }] }));
  assert.ok(isRead({ t: 'nodes', nodes: [] }));
});

test('rejects a list of nodes that is too long, or has an entry without an address', () => {
  assert.ok(!isRead({ t: 'nodes', nodes: Array.from({ length: MAX_OTHER_NODES + 1 }, () => OTHER) }));
  assert.ok(!isRead({ ...WELCOME, nodes: [{ id: 'nd_2', name: 'two' }] }));
  assert.ok(!isRead({ ...WELCOME, nodes: [{ ...OTHER, address: 'x'.repeat(265) }] }));
});

test('rejects a message in which a name is doubled: a proxy may have read the other value', () => {
  const twice = JSON.stringify(WELCOME).replace('{', '{"session":"ts_2",');
  assert.deepEqual(decodeGatewayMessage(twice), { ok: false, reason: 'a control message has a name twice' });
});
