import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { LoginWorld } from '../../support/login-world.ts';
import { change, seenIn } from '../people-and-programs/steps.ts';

const world = await LoginWorld.open({ after });
const PREFLIGHT = { origin: 'https://app.example', 'access-control-request-method': 'PUT' };

function assertNoIdentity(headers: object): void {
  assert.deepEqual(
    Object.keys(headers).filter((name) => name.startsWith('postern-auth-')),
    [],
  );
}

test('options_passthrough: off, OPTIONS needs a login as everything does; on, it passes, and nothing else does', async () => {
  const site = await world.site();
  const { host } = site;
  const preflight = () => world.edge.ask(host, '/api', { method: 'OPTIONS', headers: PREFLIGHT });
  assert.equal((await preflight()).status, 401);
  await change(world, site, { options_passthrough: true });
  const seen = seenIn(await preflight());
  assert.equal(seen.method, 'OPTIONS');
  assert.equal(seen.headers['access-control-request-method'], 'PUT');
  assertNoIdentity(seen.headers);
  for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTION', 'PROPFIND']) {
    const answer = await world.edge.ask(host, '/api', { method, headers: PREFLIGHT });
    assert.ok([400, 401, 405].includes(answer.status), `${method}: ${answer.status}`);
  }
  await change(world, site, { options_passthrough: false });
  assert.equal((await preflight()).status, 401);
});

test('options_passthrough: no identity goes with it, not even of somebody who is logged in', async () => {
  const { host } = await world.site({ options_passthrough: true });
  const browser = world.browser();
  await browser.logIn(host);
  assertNoIdentity(seenIn(await browser.ask(host, '/', { method: 'OPTIONS', headers: PREFLIGHT })).headers);
  assert.notEqual(seenIn(await browser.ask(host, '/')).headers['postern-auth-user-id'], undefined);
});

test('options_passthrough: an override header makes no other method of it', async () => {
  const { host } = await world.site({ options_passthrough: true });
  for (const name of ['x-http-method-override', 'x-http-method', 'x-method-override']) {
    const answer = await world.edge.ask(host, '/', { method: 'GET', headers: { [name]: 'OPTIONS' } });
    assert.equal(answer.status, 401, name);
  }
});
