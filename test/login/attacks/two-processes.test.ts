import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, afterEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocketServer } from 'ws';
import { openWebSocket } from '../../support/edge-websocket.ts';
import { EdgeWorld } from '../../support/edge-world.ts';
import { LoginWorld } from '../../support/login-world.ts';
import { freshDatabase, startPostgres } from '../../support/postgres.ts';

/** Two Postern processes on one PostgreSQL, and a user who alternates between them. */
const postgres = await startPostgres();
const database = await freshDatabase(postgres);
const env = { POSTERN_SECRET_KEY: randomBytes(32).toString('base64') };
const a = await LoginWorld.open({ after }, { env, databaseUrl: database.url });
const b = a.servedBy(await EdgeWorld.open({ after }, env, { databaseUrl: database.url, clock: a.clock }));
after(() => postgres.stop());
const sockets = new WebSocketServer({ server: a.upstream });
sockets.on('connection', (socket) => socket.on('message', (data) => socket.send(data)));
afterEach(() => a.clock.reset());

async function siteWith(fields: Readonly<Record<string, unknown>>): Promise<string> {
  const { host } = await a.site(fields);
  await b.edge.world.server.replica.refresh();
  return host;
}

/** Until the store knows of it: activity is written every ten seconds. */
async function isStoredAsActive(host: string): Promise<void> {
  const since = a.clock.nowMs() - 5_000;
  for (;;) {
    const rows = await a.edge.world.server.store.logins.listSessions({ beforeId: null, limit: 100, nowMs: 0 });
    const row = rows.find(({ doc }) => doc['host'] === host);
    assert.ok(row !== undefined, 'the login has ended');
    if (row.lastActiveMs >= since) return;
    await sleep(100);
  }
}

test('a user active at one process is not idle at the other', async () => {
  const host = await siteWith({ inactivity_timeout: 100 });
  const browser = a.browser();
  await browser.logIn(host);
  const there = browser.at(b);
  assert.equal((await there.open(host)).status, 200);
  const socket = await openWebSocket(b, there, host);
  const closed = new Promise<'closed'>((resolve) => socket.once('close', () => resolve('closed')));
  a.clock.advance(60);
  assert.equal((await browser.open(host)).status, 200);
  await isStoredAsActive(host);
  a.clock.advance(60);
  // Idle for longer than the limit, but its user was active elsewhere.
  assert.equal(await Promise.race([closed, sleep(1500, 'open' as const)]), 'open');
  assert.equal((await there.open(host)).status, 200);
  assert.equal((await browser.open(host)).status, 200);
  a.clock.advance(101);
  assert.equal(await Promise.race([closed, sleep(3000, 'open' as const)]), 'closed', 'idle everywhere');
  assert.equal((await there.open(host)).status, 302);
  assert.equal((await browser.open(host)).status, 302);
});
