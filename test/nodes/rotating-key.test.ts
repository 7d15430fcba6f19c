import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, test } from 'node:test';
import { Cluster, until } from '../support/cluster.ts';
import { localHttp } from '../tunnel/support/fault-world.ts';

test('a node with a new key and that of the others writes what they can read', async (t) => {
  const [older, newer] = [randomBytes(32), randomBytes(32)].map((key) => key.toString('base64'));
  const cluster = await Cluster.open(
    { after },
    {
      nodes: 2,
      env: { POSTERN_EVENTS_ALLOW_CIDRS: '127.0.0.0/8' },
      envOf: (at) => ({ POSTERN_SECRET_KEY: at === 0 ? `${older}` : `${newer},${older}` }),
    },
  );
  const [old, rotating] = [cluster.node(0), cluster.node(1)];
  let received = 0;
  const port = await localHttp(t, (_request, response) => {
    received += 1;
    response.end();
  });
  const made = await rotating.api('POST', '/event_destinations', {
    target: { webhook: { url: `http://127.0.0.1:${port}/` } },
  });
  const path = `/event_destinations/${made.id}`;
  await until('the other node knows it', async () => (await old.api('GET', path).catch(() => null)) !== null);
  // Each event is signed with the secret of the destination.
  for (const node of [old, rotating]) {
    const result = await node.api('POST', `${path}/test`, {});
    assert.equal(result.is_delivered, true, `${node.name}: ${JSON.stringify(result)}`);
  }
  assert.equal(received, 2);
});
