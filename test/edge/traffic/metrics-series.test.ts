import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { EdgeWorld } from '../../support/edge-world.ts';
import { recordingUpstream } from './recording-upstream.ts';

const upstream = await recordingUpstream({ after });

test('removes the series of a deleted route, and a request that outlives it does not recreate them', async (t) => {
  const world = await EdgeWorld.open(t);
  const site = await world.site(await world.staticBackend(upstream.address));
  upstream.answer = (_request, response) => response.end('soon');
  assert.equal(await world.status(site.host), 200);
  const other = await world.route(site.edgeId, '/other');
  await world.api('PUT', `${other}/backend`, { backend_id: await world.httpResponse('other') });
  assert.equal(await world.status(site.host, '/other'), 200);
  const otherId = other.slice(other.lastIndexOf('/') + 1);
  assert.ok((await world.metrics()).includes(`route="${otherId}"`));
  await world.api('DELETE', other);
  const left = await world.metrics();
  assert.ok(!left.includes(otherId), 'series of a deleted route');
  assert.ok(left.includes(`route="${site.routeId}"`));

  const begun = new Promise<void>((resolve) => {
    upstream.answer = (_request, _response) => resolve();
  });
  const late = world.ask(site.host).catch(() => null);
  await begun;
  await world.api('DELETE', site.edgePath);
  await late;
  await sleep(20);
  assert.ok(!(await world.metrics()).includes(site.edgeId), 'series of a deleted edge');
});

test('has one group of series per edge at the level of edges, and one for all at that of processes', async (t) => {
  for (const level of ['edge', 'process']) {
    const world = await EdgeWorld.open(t, { POSTERN_METRICS_LEVEL: level });
    const site = await world.site(await world.httpResponse('here'));
    assert.equal(await world.status(site.host), 200);
    const text = await world.metrics();
    assert.ok(!text.includes(site.routeId));
    assert.equal(text.includes(`edge="${site.edgeId}",route=""`), level === 'edge');
    await world.api('DELETE', site.edgePath);
    assert.ok(!(await world.metrics()).includes(site.edgeId));
  }
});

test('no gauge is named like a counter', async (t) => {
  const world = await EdgeWorld.open(t);
  assert.doesNotMatch(await world.metrics(), /^# TYPE \S+_total gauge$/m);
});
