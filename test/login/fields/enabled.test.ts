import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { recordingUpstream } from '../../edge/traffic/recording-upstream.ts';
import {
  echoingWebSockets,
  openWebSocket,
  openWebSocketOverHttp2,
  WebSocketEnd,
} from '../../edge/traffic/web-socket.ts';
import type { Site } from '../../support/edge-world.ts';
import { LoginWorld } from '../../support/login-world.ts';
import { assertLoginWanted, change, seenIn, userOf } from '../flow/steps.ts';

const world = await LoginWorld.open({ after });
const upstream = await recordingUpstream({ after });
echoingWebSockets(upstream);

const WITHIN_MS = 1000;

async function siteWithSockets(): Promise<Site> {
  const site = await world.site();
  const backend_id = await world.edge.staticBackend(upstream.address);
  await world.edge.api('PUT', `${site.routePath}/backend`, { backend_id });
  return site;
}

async function assertClosed(ends: readonly WebSocketEnd[]): Promise<void> {
  const late = new Promise((_resolve, reject) => setTimeout(() => reject(new Error('still open')), WITHIN_MS).unref());
  await Promise.race([Promise.all(ends.map((end) => end.closed)), late]);
}

test('enabled: false opens the route immediately, true closes it immediately, and logged-in users stay so', async () => {
  const site = await world.site();
  const { host } = site;
  const browser = world.browser();
  await browser.logIn(host);
  const stranger = world.browser();
  assertLoginWanted(await stranger.open(host));
  await change(world, site, { enabled: false });
  const { headers } = seenIn(await stranger.open(host));
  assert.equal(headers['postern-auth-user-id'], undefined);
  const known = seenIn(await browser.open(host));
  assert.equal(known.headers['postern-auth-user-id'], undefined, 'no identity without the module');
  assert.equal(known.headers.cookie, undefined, 'but our cookies are still ours');
  await change(world, site, { enabled: true });
  assertLoginWanted(await stranger.open(host));
  assert.equal(await userOf(browser, host), 'alice@example.com');
});

test('deleting the module opens the route immediately, and putting it again closes it immediately', async () => {
  const site = await world.site();
  const stranger = world.browser();
  assertLoginWanted(await stranger.open(site.host));
  await world.edge.api('DELETE', `${site.routePath}/oidc`);
  seenIn(await stranger.open(site.host));
  await change(world, site, {});
  assertLoginWanted(await stranger.open(site.host));
});

test('enabling closes what is open without a login: WebSockets over HTTP/1.1 and HTTP/2, and a stream', async () => {
  const site = await siteWithSockets();
  const { host } = site;
  await change(world, site, { enabled: false });
  const ends = [
    await openWebSocket(await world.edge.connect(host), host),
    await openWebSocketOverHttp2(await world.edge.http2(host), host),
  ];
  for (const end of ends) assert.ok(await end.echoes('open'));
  const begun = new Promise<void>((resolve) => {
    upstream.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: 1\n\n', () => resolve());
    };
  });
  const streamed = world.edge.ask(host, '/events').then(
    ({ status }) => `whole, ${status}`,
    () => 'cut',
  );
  await begun;
  await change(world, site, { enabled: true });
  await assertClosed(ends);
  assert.equal(await streamed, 'cut');
  upstream.answer = null;
});

test('enabling keeps a WebSocket with the cookies of a login open', async () => {
  const site = await siteWithSockets();
  const { host } = site;
  const browser = world.browser();
  await browser.logIn(host);
  await change(world, site, { enabled: false });
  const session = await world.edge.http2(host);
  const cookie = browser.jar.header(`${world.origin(host)}/`) ?? '';
  const stream = session.request({
    ':method': 'CONNECT',
    ':protocol': 'websocket',
    ':path': '/',
    ':authority': host,
    'sec-websocket-version': '13',
    cookie,
  });
  await new Promise((resolve) => stream.once('response', resolve));
  const end = new WebSocketEnd(stream, true);
  assert.ok(await end.echoes('before'));
  await change(world, site, { enabled: true });
  assert.ok(await end.echoes('after'));
});
