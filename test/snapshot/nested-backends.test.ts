import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EdgeWorld } from '../support/edge-world.ts';

/** On each level. */
const WIDTH = 25;

test('backends that name others may lead to 10,000 targets, and a write that makes more is refused', async (t) => {
  const edge = await EdgeWorld.open(t, { POSTERN_API_RATE_LIMIT: '0' });
  const level = async (below: readonly string[] | null): Promise<readonly string[]> => {
    const made: string[] = [];
    for (let at = 0; at < WIDTH; at += 1) {
      const backends = below === null ? [await edge.httpResponse('found')] : below;
      made.push((await edge.api('POST', '/backends/failover', { backends })).id);
    }
    return made;
  };
  const first = await level(null);
  const second = await level(first);
  const third = await level(second);
  const [top = ''] = third;
  const site = await edge.site(top);
  assert.equal((await edge.ask(site.host)).text, 'found');
  // 25 × 25 × 25 ways.
  const { status, body } = await edge.world.api('POST', '/backends/failover', { backends: third });
  assert.equal(status, 400);
  assert.equal(body.error_code, 'ERR_POSTERN_INVALID_BODY');
  assert.match(body.msg, /"?backends"? leads to 15625 targets through backends that name others, and at most 10000/);
  const weights = Object.fromEntries(third.map((id) => [id, 1]));
  assert.equal((await edge.world.api('POST', '/backends/weighted', { backends: weights })).status, 400);

  // A member that gets more of them: its own ways are few, and the routes above it refuse rather than the server.
  const wide = await Promise.all(Array.from({ length: 90 }, () => edge.httpResponse('more')));
  for (const id of first) await edge.api('PATCH', `/backends/failover/${id}`, { backends: wide });
  assert.equal((await edge.ask(site.host)).status, 503);
  const { problems } = await edge.api('GET', '/problems');
  assert.match(JSON.stringify(problems), new RegExp(`the backend ${top} leads to 56250 targets`));
  for (const id of first) await edge.api('PATCH', `/backends/failover/${id}`, { backends: wide.slice(0, 1) });
  assert.equal((await edge.ask(site.host)).text, 'more');
});
