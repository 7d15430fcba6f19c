import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { loopbackFetch } from '../../tools/dev-idp/loopback-fetch.ts';
import { EdgeWorld } from '../support/edge-world.ts';

const world = await EdgeWorld.open({ after });
const site = await world.site(await world.httpResponse('reached', { status_code: 201 }));
const address = `https://${site.host}/.well-known/anything?a=b`;
const port = (): number => world.port;

test('reaches an edge by its name, over verified TLS', async () => {
  const answer = await loopbackFetch({ ca: world.ca, port })(address, {
    method: 'POST',
    body: new URLSearchParams({ logout_token: 'x' }),
  });
  assert.deepEqual([answer.status, await answer.text()], [201, 'reached']);
});

test('rejects a certificate of another authority than the trusted ones', async () => {
  await assert.rejects(loopbackFetch({ ca: [], port })(address), /certificate/);
  assert.equal((await loopbackFetch({ port })(address)).status, 201);
});

test('gives up a request that takes too long', async () => {
  const signal = AbortSignal.abort(new Error('too long'));
  await assert.rejects(loopbackFetch({ ca: world.ca, port })(address, { signal }), { name: 'AbortError' });
});
