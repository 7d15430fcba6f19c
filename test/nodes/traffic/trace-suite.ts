import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { RecordingUpstream } from '../../edge/traffic/recording-upstream.ts';
import type { Cluster } from '../../support/cluster.ts';
import type { Collector, SeenSpan } from '../../tracing/collector.ts';
import { eventually } from '../../tunnel/support/fault-world.ts';
import type { FarWay } from './far-ways.ts';

/** One trace with the spans of two processes. */
export function traceSuite(cluster: Cluster, way: FarWay, { seen }: RecordingUpstream, collector: Collector): void {
  suite(`traces through ${way.name}`, () => {
    test('a request has spans of its edge and of the node with the agent, in one trace', async () => {
      const path = `/traced-${way.edge.name}`;
      const answer = await way.edge.ask(way.host, path);
      assert.equal(answer.status, 200);
      const [root] = (await collector.ofRequest(answer.headers['postern-request-id'])) as [SeenSpan];
      const ofTrace = (name: string): SeenSpan | undefined =>
        collector.spans.find((span) => span.traceId === root.traceId && span.name === name);
      await eventually('the span of the other process', () => ofTrace('hop') !== undefined);
      const [sent, tunnel, hop] = ['upstream', 'tunnel', 'hop'].map((name) => ofTrace(name) ?? assert.fail(name)) as [
        ...[SeenSpan, SeenSpan, SeenSpan],
      ];
      const parents = [sent, tunnel, hop].map(({ parentSpanId }) => parentSpanId);
      assert.deepEqual(parents, [root.spanId, sent.spanId, tunnel.spanId]);
      const [here, there] = [way.edge.name, cluster.first.name];
      assert.deepEqual([root, sent, tunnel, hop].map(nodeOf), [here, here, here, there]);
      assert.equal(tunnel.attributes['postern.node'], there);
      assert.equal(hop.attributes['postern.tunnel'], tunnel.attributes['postern.tunnel']);
      const headers = seen.find(({ url }) => url === path)?.headers ?? {};
      assert.equal(headers['traceparent'], `00-${root.traceId}-${sent.spanId}-01`);
      assert.equal(headers['postern-trace'], undefined);
    });
  });
}

function nodeOf({ resource }: SeenSpan): unknown {
  return resource['service.instance.id'];
}
