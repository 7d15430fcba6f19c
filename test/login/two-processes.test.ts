import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocketServer } from 'ws';
import { openWebSocket } from '../support/edge-websocket.ts';
import { EdgeWorld } from '../support/edge-world.ts';
import { LoginWorld } from '../support/login-world.ts';
import { freshDatabase, startPostgres } from '../support/postgres.ts';

/** Two Postern processes on one PostgreSQL: both know the same logins. */
const postgres = await startPostgres();
const database = await freshDatabase(postgres);
const env = { POSTERN_SECRET_KEY: randomBytes(32).toString('base64') };
const provider = { accessTokenTtlS: 60, refreshTokens: 'always' } as const;
const a = await LoginWorld.open({ after }, { env, databaseUrl: database.url, provider });
/** The same sites, served by the second process. */
const b = a.servedBy(await EdgeWorld.open({ after }, env, { databaseUrl: database.url, clock: a.clock }));
after(() => postgres.stop());
const echoes = new WebSocketServer({ server: a.upstream });
echoes.on('connection', (socket) => socket.on('message', (data) => socket.send(data)));

suite('logins of two processes', () => {
  async function site(): Promise<{ readonly host: string }> {
    const made = await a.site();
    await b.edge.world.server.replica.refresh();
    return made;
  }

  test('a login at one is valid at the other', async () => {
    const { host } = await site();
    const browser = a.browser();
    await browser.logIn(host);
    assert.equal((await browser.at(b).open(host)).status, 200);
  });

  test('its end reaches requests and streams of the other within a second', async () => {
    const { host } = await site();
    const browser = a.browser();
    await browser.logIn(host);
    const there = browser.at(b);
    assert.equal((await there.open(host)).status, 200);
    const socket = await openWebSocket(b, there, host);
    const closed = new Promise<'closed'>((resolve) => socket.once('close', () => resolve('closed')));
    await endSessionAt(host);
    assert.equal(await Promise.race([closed, sleep(2000, 'still open' as const, { ref: false })]), 'closed');
    assert.equal((await there.open(host)).status, 302);
  });

  test('both at the moment of expiry: one refresh', async () => {
    const { host } = await site();
    const browser = a.browser();
    await browser.logIn(host);
    const there = browser.at(b);
    assert.equal((await there.open(host)).status, 200);
    const before = refreshes();
    a.clock.advance(61);
    const answers = await Promise.all(Array.from({ length: 40 }, (_, at) => (at % 2 ? browser : there).open(host)));
    a.clock.reset();
    assert.deepEqual([...new Set(answers.map((answer) => answer.status))], [200]);
    assert.equal(refreshes() - before, 1);
  });

  test('a login that moves a browser to a new key leaves no old key in the other process', async () => {
    const { host } = await site();
    const browser = a.browser();
    await browser.logIn(host);
    const old = browser.copy();
    assert.equal((await old.at(b).open(host)).status, 200);
    await endSessionAt(host);
    await browser.logIn(host);
    assert.equal((await browser.at(b).open(host)).status, 200);
    // The other process learns of it within a second, or later on a busy machine.
    while ((await old.at(b).open(host)).status !== 302);
  });

  async function endSessionAt(host: string): Promise<void> {
    const { application_sessions: sessions } = await a.edge.api('GET', '/app/sessions');
    const session = sessions.find((each: { public_url: string }) => each.public_url === a.origin(host));
    await a.edge.api('DELETE', `/app/sessions/${session.id}`);
  }

  function refreshes(): number {
    return a.provider.requests.tokenRequests.filter(({ grantType }) => grantType === 'refresh_token').length;
  }
});
