import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { RecordingUpstream } from '../../edge/traffic/recording-upstream.ts';
import { type Cluster, until } from '../../support/cluster.ts';
import { LiveView } from '../../support/live-view.ts';

/** Latency and traffic of tunnels as a node without the agent shows them. */
export function figuresSuite(cluster: Cluster, upstream: RecordingUpstream): void {
  const { first } = cluster;
  const [second, third] = [cluster.node(1), cluster.node(2)];

  suite('a live view on any node', () => {
    test("has a tunnel's requests of all nodes once, and the round trip at the node of its agent", async (t) => {
      const agent = await cluster.agent([{ proto: 'https', addr: upstream.address }], { at: [first], connections: 1 });
      await cluster.visible(agent);
      const { hostname } = new URL(agent.publicUrl ?? '');
      for (const node of [first, second, second, third, third, third]) assert.equal(await node.status(hostname), 200);
      const view = await LiveView.open(
        { baseUrl: `http://${third.address}:${third.ports.api}` },
        'topics=tunnel_traffic',
      );
      t.after(() => view.close());
      // biome-ignore lint/suspicious/noExplicitAny: tests look into answers field by field
      const latest = (): any => view.with('tunnel_traffic').at(-1)?.data;
      const { tunnels } = await first.api('GET', '/tunnels');
      const { id } = tunnels.find(({ public_url: url }: { public_url: string }) => url?.includes(hostname));
      const figures = () => latest()?.tunnels.find((each: { id: string }) => each.id === id);
      await until('all six are counted', () => figures()?.requests === 6 && figures().in_progress === 0);
      let finish = (): void => {};
      upstream.answer = (_request, response) => {
        finish = () => response.end();
      };
      const held = second.ask(hostname);
      await until('it is in progress, once', () => figures()?.in_progress === 1);
      upstream.answer = null;
      finish();
      assert.equal((await held).status, 200);
      const agentFigures = () => latest().agents.find((each: { id: string }) => each.id === agent.sessionId);
      await until('the ping is answered', () => agentFigures()?.connections[0]?.round_trip_ms > 0);
      assert.deepEqual(
        agentFigures().connections.map(({ node }: { node: string }) => node),
        [first.name],
      );
      assert.deepEqual(
        latest()
          .asked_nodes.map(({ name, answered }: { name: string; answered: boolean }) => `${name} ${answered}`)
          .sort(),
        cluster.nodes.map(({ name }) => `${name} true`).sort(),
      );
      await agent.close();
    });
  });
}
