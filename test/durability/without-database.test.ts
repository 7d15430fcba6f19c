import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { nameOf, operations, FurnishedWorld, writeOperations } from '../conformance/furnished-world.ts';
import { EdgeWorld, type Site } from '../support/edge-world.ts';
import { type Browser, LoginWorld } from '../support/login-world.ts';
import { type OwnPostgres, startOwnPostgres } from '../support/own-postgres.ts';
import { freshDatabase } from '../support/postgres.ts';
import type { ApiAnswer, TestWorld } from '../support/test-world.ts';

const DEADLINE_MS = 30_000;
const reads = operations.filter(({ method }) => method === 'GET');

/** Their lists have no upper bound, so they are only in the database. Everything else answers from memory. */
const NEEDS_DATABASE: ReadonlySet<string> = new Set([
  'app_sessions',
  'app_users',
  'event_deliveries',
  'tunnels',
  'tunnel_sessions',
  'endpoints',
]);

/** Two nodes on one PostgreSQL, with one of everything, while the database is stopped and started again. */
suite('without the database', () => {
  let postgres: OwnPostgres;
  let a: LoginWorld;
  let b: LoginWorld;
  let furnished: FurnishedWorld;
  let plain: Site;
  let login: Site;
  let known: Browser;
  let returning: Browser;
  let callback: string;

  before(async () => {
    postgres = await startOwnPostgres();
    after(() => postgres.close());
    const { url: databaseUrl } = await freshDatabase(postgres);
    const env = { POSTERN_SECRET_KEY: randomBytes(32).toString('base64') };
    a = await LoginWorld.open({ after }, { env, databaseUrl });
    b = a.servedBy(await EdgeWorld.open({ after }, env, { databaseUrl, clock: a.clock }));
    furnished = await FurnishedWorld.furnish(a.edge.world);
    plain = await a.edge.site(await a.edge.staticBackend(a.upstreamAddress));
    login = await a.site();
    await b.edge.world.server.replica.refresh();
    known = a.browser();
    await known.logIn(login.host);
    assert.equal((await known.at(b).open(login.host)).status, 200);
  });

  test('traffic and running logins go on at every node, longer than a login is kept unused', async () => {
    await postgres.end('SIGINT');
    a.clock.advance(20 * 60);
    for (const node of [a, b]) {
      assert.equal((await node.edge.ask(plain.host, '/', { rejectUnauthorized: false })).status, 200);
      assert.equal((await known.at(node).open(login.host)).status, 200);
    }
  });
});
