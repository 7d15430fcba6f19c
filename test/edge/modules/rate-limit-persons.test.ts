import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import { WebSocket, WebSocketServer } from 'ws';
import { ProgramsWorld } from '../../access/programs-world.ts';
import type { Site } from '../../support/edge-world.ts';
import { listenOn } from '../../support/listen-on.ts';
import { type Browser, LoginWorld } from '../../support/login-world.ts';

const HOUR = 3_600;
const world = await LoginWorld.open({ after }, { env: { POSTERN_TRUSTED_PROXIES: '127.0.0.1/32' } });
const programs = new ProgramsWorld(world);
const { edge } = world;

const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });

async function limited({ routePath }: Site, ...limits: readonly object[]): Promise<void> {
  const body = { limits: limits.map((limit) => ({ window_seconds: HOUR, ...limit })) };
  await edge.api('PUT', `${routePath}/rate_limit`, body);
}

async function loggedIn(host: string, login: string): Promise<Browser> {
  const browser = world.browser();
  await browser.logIn(host, '/', login);
  return browser;
}

test('each person has a limit of their own, whatever address they share, and so has each program', async () => {
  const site = await world.site();
  const { accountId, token } = await programs.program();
  await programs.protect(site, { allow: [{ email_domains: ['example.com'] }, { service_accounts: [accountId] }] });
  const [alice, bob] = [await loggedIn(site.host, 'alice'), await loggedIn(site.host, 'bob')];
  await limited(site, { limit: 2, key: 'user' }, { limit: 1, key: 'service_account', window_seconds: 60 });
  const status = async (browser: Browser, address: string): Promise<number> =>
    (await browser.ask(site.host, '/', from(address))).status;
  // Neither is a program: for the second limit, their addresses count.
  assert.deepEqual([await status(alice, '192.0.2.1'), await status(alice, '192.0.2.2')], [200, 200]);
  assert.equal(await status(alice, '192.0.2.3'), 429);
  assert.equal(await status(bob, '192.0.2.3'), 200);
  // Without a user, the address counts for the first limit: two of this one.
  const program = async (address: string): Promise<number> => (await programs.ask(site, token, from(address))).status;
  assert.deepEqual([await program('192.0.2.9'), await program('192.0.2.10')], [200, 429]);
  // A request that may not enter is refused first, and uses nothing of a limit by person.
  assert.equal((await edge.ask(site.host, '/', { rejectUnauthorized: false })).status, 401);
});

test('a limit by address comes before the login, and counts those whom it turns away', async () => {
  const site = await world.site();
  await limited(site, { limit: 2 });
  const statuses: number[] = [];
  for (let at = 0; at < 3; at += 1) statuses.push(await edge.status(site.host, '/', from('192.0.2.1')));
  assert.deepEqual(statuses, [401, 401, 429]);
  assert.notEqual(await edge.status(site.host, '/.postern/callback?state=x', from('192.0.2.1')), 429);
});

test('an IPv6 network is one address in every form in which it is written, and each IPv4 address is one', async () => {
  const site = await edge.site(await edge.httpResponse('ok'));
  await limited(site, { limit: 1 });
  const statuses: number[] = [];
  for (const address of [
    '2001:db8:1:1::1',
    '2001:db8:1:1:ffff::2',
    '2001:0db8:0001:0001:0:0:0:3',
    '2001:DB8:1:1::4',
    '2001:db8:1:2::1',
    '192.0.2.1',
    '::ffff:192.0.2.1',
    '192.0.2.2',
  ])
    statuses.push(await edge.status(site.host, '/', from(address)));
  assert.deepEqual(statuses, [200, 429, 429, 429, 200, 200, 429, 200]);
});

test('a clock that goes back or forth changes nothing', async () => {
  const site = await edge.site(await edge.httpResponse('ok'));
  await limited(site, { limit: 1 });
  const status = (address: string): Promise<number> =>
    edge.status(site.host, '/', { ...from(address), rejectUnauthorized: false });
  assert.equal(await status('192.0.2.1'), 200);
  for (const seconds of [-86_400, 2 * 86_400, -86_400]) {
    world.clock.advance(seconds);
    assert.equal(await status('192.0.2.1'), 429);
  }
  world.clock.advance(-HOUR);
  assert.deepEqual([await status('192.0.2.2'), await status('192.0.2.2')], [200, 429]);
  world.clock.reset();
});

test('a WebSocket counts once, whatever passes through it', async () => {
  const server = createServer();
  const port = await listenOn({ after }, server);
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket) => socket.on('message', () => socket.send('text')));
  const site = await edge.site(await edge.staticBackend(`127.0.0.1:${port}`));
  await limited(site, { limit: 2 });
  const open = (): WebSocket =>
    new WebSocket(`wss://127.0.0.1:${edge.port}/`, {
      ...{ servername: site.host, rejectUnauthorized: false, headers: { host: site.host } },
    } as object);
  const socket = open();
  await once(socket, 'open');
  for (let at = 0; at < 20; at += 1) {
    socket.send('text');
    await once(socket, 'message');
  }
  // A change of the configuration asks nobody who is in.
  await limited(site, { limit: 2 }, { limit: 1, key: 'route' });
  socket.send('text');
  await once(socket, 'message');
  const second = open();
  await once(second, 'open');
  const third = open();
  const [error] = (await once(third, 'error')) as [Error];
  assert.match(error.message, /429/);
  for (const each of [socket, second]) each.terminate();
  sockets.close();
});
