import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { EdgeWorld } from '../../support/edge-world.ts';

test('a paused site answers 503 with a text and Retry-After, lets addresses through, and comes back at once', async () => {
  const world = await EdgeWorld.open({ after });
  const { host, routePath } = await world.site(await world.httpResponse('the site'));
  await world.api('PUT', `${routePath}/maintenance`, { message: 'Back at noon. <b>', retry_after: 90 });
  const paused = await world.ask(host, '/', { headers: { accept: 'text/html' } });
  assert.equal(paused.status, 503);
  assert.equal(paused.headers['retry-after'], '90');
  assert.match(paused.text, /Under maintenance/);
  assert.match(paused.text, /Back at noon\. &lt;b&gt;/);
  await world.api('PUT', `${routePath}/maintenance`, { allow_cidrs: ['127.0.0.0/8'] });
  assert.equal((await world.ask(host)).text, 'the site');
  await world.api('PUT', `${routePath}/maintenance`, { enabled: false });
  assert.equal((await world.ask(host)).status, 200);
  const wrong = await world.world.api('PUT', `${routePath}/maintenance`, { allow_cidrs: ['10.0.0.1/8'] });
  assert.equal(wrong.status, 400);
  assert.equal(wrong.body.details.field, '/allow_cidrs/0');
  await world.api('PUT', `${routePath}/maintenance`, {});
  assert.equal((await world.ask(host)).status, 503);
  await world.api('DELETE', `${routePath}/maintenance`);
  assert.equal((await world.ask(host)).status, 200);
});
