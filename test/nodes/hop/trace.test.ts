import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { TunnelUpstream } from '../../../src/proxy/edge/tunnels/tunnel-upstream.ts';
import { HopTracing } from '../../../src/proxy/tracing/request-trace.ts';
import type { FinishedSpan } from '../../../src/proxy/tracing/span-queue.ts';
import { DeadlineTicker } from '../../../src/proxy/upstream/deadline-ticker.ts';
import { eventually } from '../../tunnel/support/fault-world.ts';
import { ask, limits } from '../../upstream/ask.ts';
import { type Holder, HopWorld, TUNNEL } from './hop-world.ts';

const TRACE = 'a'.repeat(32);
const SPAN = 'b'.repeat(16);
const spans: FinishedSpan[] = [];
const tracing = new HopTracing({ send: (made) => void spans.push(...made) }, () => 1_000_000);
const world = await HopWorld.open({ after }, 1, 1, tracing);
const [{ agent }] = world.holders as [Holder];
const upstream = new TunnelUpstream(world.tunnel(), limits, new DeadlineTicker());

suite('a hop', () => {
  test('makes the span that the other node asks for, and the agent does not get the request for it', async () => {
    const headers = ['traceparent', `00-${TRACE}-${'c'.repeat(16)}-01`];
    const { head } = await ask(upstream, { headers, hopTrace: `${TRACE}-${SPAN}` });
    assert.equal(head?.status, 200);
    await eventually('the span', () => spans.length > 0);
    const { startMs, endMs, spanId, ...rest } = spans[0] ?? assert.fail();
    assert.deepEqual(rest, {
      ...{ name: 'hop', kind: 'server', traceId: TRACE, parentSpanId: SPAN, isParentRemote: true, isError: false },
      attributes: { 'postern.tunnel': TUNNEL, 'http.response.status_code': 200 },
    });
    assert.ok(startMs === 1_000_000 && endMs > startMs && spanId !== SPAN);
    const seen = agent.seen.at(-1)?.headers ?? {};
    assert.deepEqual([seen['traceparent'], seen['postern-trace']], [headers[1], undefined]);
  });

  for (const hopTrace of [undefined, 'x', `${TRACE}-${'0'.repeat(16)}`, `00-${TRACE}-${SPAN}-01`]) {
    test(`makes none for ${String(hopTrace)}, and the request passes`, async () => {
      const before = spans.length;
      const { head } = await ask(upstream, hopTrace === undefined ? {} : { hopTrace });
      assert.equal(head?.status, 200);
      await eventually('it is over', () => agent.active === 0);
      assert.equal(spans.length, before);
      assert.equal(agent.seen.at(-1)?.headers['postern-trace'], undefined);
    });
  }
});
