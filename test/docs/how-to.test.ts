// Own process: takes long, so it starts first.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import type { Cleanup } from '../support/cleanup.ts';
import { freshDatabase, startPostgres } from '../support/postgres.ts';
import { startServerProcess } from '../support/server-process.ts';
import { isLong } from '../support/share-of-cases.ts';
import { howToPlans } from './how-to-plans.ts';
import { shellBlocks } from './markdown.ts';
import { Reader } from './reader.ts';

suite('the how-to guides, followed one after another', () => {
  /** Hooks made inside a hook would belong to the test that runs next. */
  const tasks: (() => Promise<void>)[] = [];
  const cleanup: Cleanup = { after: (task) => tasks.unshift(task) };
  let reader: Reader;

  before(async () => {
    reader = await Reader.open(cleanup);
  });

  after(async () => {
    for (const task of tasks) await task();
  });

  for (const [page, { blocks, setup, alsoRunBy }] of Object.entries(howToPlans)) {
    if (alsoRunBy === undefined || isLong)
      test(`${page} can be followed as written`, () => reader.follow(page, blocks, setup));
  }

  // `npm test` does the same in test/store/backup.test.ts.
  const moveToPostgres = async (): Promise<void> => {
    const postgres = await startPostgres();
    cleanup.after(() => postgres.stop());
    const database = await freshDatabase(postgres);
    cleanup.after(() => database.drop());
    const [backup, restore] = shellBlocks('docs/how-to/move-to-postgresql.md').map(({ text }) => text);
    const terminal = reader.terminal();
    try {
      await terminal.run('postern() { node bin/postern.mjs "$@"; }');
      await terminal.run('node bin/postern.mjs api https-edges create --hostports moved.localhost:7443');
      await terminal.run(backup ?? 'false');
      await terminal.run(restore?.replace(/postgres:\/\/\S+/, database.url) ?? 'false');
      const moved = startServerProcess(cleanup, 'moved', {
        cwd: reader.folder,
        launcher: join(reader.folder, 'bin', 'postern.mjs'),
        env: { POSTERN_DATABASE_URL: database.url, POSTERN_SECRET_KEY: await secretKey(terminal) },
      });
      const { base_url: url } = await moved.ready();
      const list = await terminal.run(`node bin/postern.mjs api https-edges list --only hostports --api-url ${url}`);
      assert.match(list, /moved\.localhost:7443/);
    } finally {
      await terminal.close();
    }
  };
  if (isLong) test('docs/how-to/move-to-postgresql.md can be followed as written', moveToPostgres);
});

async function secretKey(terminal: { run(script: string): Promise<string> }): Promise<string> {
  return (await terminal.run('cat postern-data/secret.key')).trim();
}
