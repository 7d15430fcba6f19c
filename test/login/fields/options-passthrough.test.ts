import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { rawExchange } from '../../edge/traffic/raw-exchange.ts';
import { recordingUpstream } from '../../edge/traffic/recording-upstream.ts';
import { echoingWebSockets } from '../../edge/traffic/web-socket.ts';
import { LoginWorld } from '../../support/login-world.ts';
import { change, seenIn } from '../flow/steps.ts';

const world = await LoginWorld.open({ after });
const PREFLIGHT = { origin: 'https://app.example', 'access-control-request-method': 'PUT' };

function assertNoIdentity(headers: object): void {
  assert.deepEqual(
    Object.keys(headers).filter((name) => name.startsWith('postern-auth-')),
    [],
  );
}

test('options_passthrough: off, OPTIONS needs a login like everything; on, it passes, and nothing else does', async () => {
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

test("options_passthrough: no identity is attached, not even a logged-in user's", async () => {
  const { host } = await world.site({ options_passthrough: true });
  const browser = world.browser();
  await browser.logIn(host);
  assertNoIdentity(seenIn(await browser.ask(host, '/', { method: 'OPTIONS', headers: PREFLIGHT })).headers);
  assert.notEqual(seenIn(await browser.ask(host, '/')).headers['postern-auth-user-id'], undefined);
});

test('options_passthrough: an override header does not change the method', async () => {
  const { host } = await world.site({ options_passthrough: true });
  for (const name of ['x-http-method-override', 'x-http-method', 'x-method-override']) {
    const answer = await world.edge.ask(host, '/', { method: 'GET', headers: { [name]: 'OPTIONS' } });
    assert.equal(answer.status, 401, name);
  }
});

test('options_passthrough: an OPTIONS for a WebSocket is not a preflight, and opens none without a login', async () => {
  const upstream = await recordingUpstream({ after });
  const sockets = echoingWebSockets(upstream);
  const site = await world.site({ options_passthrough: true });
  const backend_id = await world.edge.staticBackend(upstream.address);
  await world.edge.api('PUT', `${site.routePath}/backend`, { backend_id });
  const socket = await world.edge.connect(site.host);
  const { statuses } = await rawExchange(
    socket,
    `OPTIONS / HTTP/1.1\r\nHost: ${site.host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n`,
    { isEnough: (soFar) => soFar.includes('\r\n\r\n') },
  );
  assert.deepEqual(statuses, [200], 'it is forwarded as an OPTIONS and nothing else');
  assert.equal(upstream.seen[0]?.headers['upgrade'], undefined);
  assert.deepEqual(sockets, []);
});
