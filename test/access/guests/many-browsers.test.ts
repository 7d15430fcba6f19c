import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import type { Cleanup } from '../../support/cleanup.ts';
import { EdgeWorld } from '../../support/edge-world.ts';
import type { Browser, LoginWorld } from '../../support/login-world.ts';
import { freshDatabase, startPostgres } from '../../support/postgres.ts';
import { GuestWorld } from './guest-world.ts';

interface Served {
  readonly world: GuestWorld;
  /** The processes that serve it. */
  readonly at: readonly LoginWorld[];
}

async function oneProcess(test: Cleanup): Promise<Served> {
  const world = await GuestWorld.open(test);
  return { world, at: [world.login] };
}

async function twoProcesses(test: Cleanup): Promise<Served> {
  const postgres = await startPostgres();
  const database = await freshDatabase(postgres);
  const env = { POSTERN_SECRET_KEY: randomBytes(32).toString('base64') };
  const world = await GuestWorld.open(test, { env, databaseUrl: database.url });
  const { login } = world;
  const other = login.servedBy(await EdgeWorld.open(test, env, { databaseUrl: database.url, clock: login.clock }));
  test.after(async () => {
    await database.drop();
    await postgres.stop();
  });
  return { world, at: [login, other] };
}

for (const [name, open] of [
  ['one process on SQLite', oneProcess],
  ['two processes on PostgreSQL', twoProcesses],
] as const) {
  suite(`many browsers at ${name}`, () => {
    const closing: (() => Promise<void> | void)[] = [];
    let served: Served;
    before(async () => {
      served = await open({ after: (task) => void closing.push(task) });
    });
    after(async () => {
      for (const close of closing) await close();
    });

    test('of twelve redemptions at once, a link for two browsers admits two', async () => {
      const { world, at } = served;
      const site = await world.site();
      for (const { edge } of at) await edge.world.server.replica.refresh();
      // A link and its guests are known everywhere at once.
      const link = await world.invite(site, { max_browsers: 2 });
      const browsers = Array.from({ length: 12 }, (_, index) => (at[index % at.length] as LoginWorld).browser());
      const answers = await Promise.all(browsers.map((browser) => world.redeem(browser, link)));
      assert.deepEqual(
        answers.map(({ status }) => status).sort((one, other) => one - other),
        [...Array<number>(2).fill(303), ...Array<number>(10).fill(410)],
      );
      const uses = await world.usedBy(link);
      assert.equal(uses.length, 2);
      assert.deepEqual([...(await world.sessionIds())].sort(), uses.map(({ session }) => session).sort());
      const admitted = browsers.filter((_, index) => answers[index]?.status === 303);
      for (const browser of admitted) {
        for (const login of at) assert.equal((await browser.at(login).open(site.host)).status, 200);
      }
      await endsEverywhere(served, admitted[0] as Browser, site.host, link.uri);
    });
  });
}

/** Deleting the link reaches every process. */
async function endsEverywhere({ world, at }: Served, browser: Browser, host: string, uri: string): Promise<void> {
  await world.login.edge.api('DELETE', uri);
  for (const login of at) while ((await browser.at(login).open(host)).status !== 403) await new Promise(setImmediate);
}
