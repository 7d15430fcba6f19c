// Long form: three nodes of two versions under load. Short form: test/durability/two-versions.test.ts
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, suite, test } from 'node:test';
import { type ClientOptions, WebSocket } from 'ws';
import type { ClusterNode } from '../support/cluster/cluster-node.ts';
import { Cluster } from '../support/cluster.ts';
import { nextVersion, PREVIOUS_LAUNCHER } from '../support/next-version.ts';
import { DRAIN_ENV, echoService, restartNodes } from './drain/restart-under-load.ts';

/** A rolling upgrade in progress: one node still runs this version, the other one the made-up next. */
const { launcher } = await nextVersion('additive');
const cluster = await Cluster.open(
  { after },
  { nodes: 2, env: DRAIN_ENV, launcherOf: (at) => (at === 0 ? PREVIOUS_LAUNCHER : launcher) },
);
const [old, now] = [cluster.node(0), cluster.node(1)];
const addr = `127.0.0.1:${await echoService({ after })}`;

suite('nodes of this version and of the next', () => {
  test('run different programs', () => {
    assert.deepEqual(
      [old, now].map(({ process }) => process.child.spawnargs.includes(launcher)),
      [false, true],
    );
  });

  const ways: readonly [string, ClusterNode, ClusterNode][] = [
    ['the new node reaches an agent of the old one', now, old],
    ['the old node reaches an agent of the new one', old, now],
  ];
  for (const [name, client, holder] of ways) {
    test(name, async (t) => {
      const agent = await cluster.agent([{ proto: 'https', addr }], {
        at: [holder],
        connections: 1,
        servername: 'localhost',
      });
      t.after(() => agent.close());
      await cluster.visible(agent);
      assert.deepEqual(
        agent.nodes.map((node) => node.name),
        [holder.name],
      );
      const { hostname: host } = new URL(agent.publicUrl ?? '');
      assert.equal((await client.ask(host, '/')).text, 'here');
      assert.equal((await client.ask(host, '/', { method: 'POST', body: 'an upload' })).text, 'an upload');
      assert.equal(await echo(client, host, 'over a WebSocket'), 'over a WebSocket');
    });
  }

  test('an upgrade of the old node under load fails no request', (t) =>
    restartNodes(t, cluster, [old], { workers: 1, pauseMs: 50, launcher }));
});

async function echo({ address, ports, ca }: ClusterNode, host: string, message: string): Promise<string> {
  const options: ClientOptions & { readonly servername: string } = { servername: host, ca: [...ca], headers: { host } };
  const socket = new WebSocket(`wss://${address}:${ports.edge}/`, options);
  await once(socket, 'open');
  socket.send(message);
  const [data] = (await once(socket, 'message')) as [Buffer];
  socket.close();
  await once(socket, 'close');
  return String(data);
}
