import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { databasePath } from '../../src/store/data-directory.ts';
import type { StoreLocation } from '../../src/store/offline-database.ts';
import { currentSchema } from '../../src/store/sql/schema/migrations.ts';
import { ENGINES, emptyLocation, openAt, querySql, usePostgres } from '../store/engines.ts';
import { type NextVersion, nextVersion } from '../support/next-version.ts';
import { startPostern } from '../support/server-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { type CommandResult, runCommand } from './run-command.ts';

usePostgres();

interface Answer {
  readonly ok: boolean;
  readonly store: { readonly engine: string; readonly schema_version: number } | null;
  readonly migrations: readonly { readonly version: number; readonly steps: readonly string[] }[];
  readonly older_servers: number;
  readonly can_downgrade: boolean;
  readonly findings: readonly { readonly level: string; readonly check: string; readonly message: string }[];
}

function settings(location: StoreLocation): string[] {
  const url = location.engine === 'postgres' ? ['--database-url', location.url] : [];
  return ['--data-dir', location.dataDir, ...url];
}

type Run = (args: readonly string[]) => Promise<Pick<CommandResult, 'code' | 'stdout'>>;

function check(location: StoreLocation, more: readonly string[] = [], run: Run = runCommand): ReturnType<Run> {
  return run(['upgrade-check', ...settings(location), ...more]);
}

async function answer(
  location: StoreLocation,
  more: readonly string[] = [],
  run: Run = runCommand,
): Promise<Answer & { code: number }> {
  const { code, stdout } = await check(location, ['--json', ...more], run);
  return { ...(JSON.parse(stdout) as Answer), code };
}

/** The command of a made-up next version. */
function byNextVersion(t: TestContext, { launcher }: NextVersion): Run {
  return async (args) => {
    const command = startPostern(t, { args, launcher });
    const { code } = await command.exited;
    return { code: code ?? -1, stdout: command.stdout() };
  };
}

for (const engine of ENGINES) {
  suite(`postern upgrade-check on ${engine}`, () => {
    test('says that a store with the same tables needs nothing, and that a downgrade is possible', async (t) => {
      const location = await emptyLocation(t, engine);
      await (await openAt(location)).close();
      const found = await answer(location);
      assert.deepEqual([found.code, found.ok, found.can_downgrade, found.migrations], [0, true, true, []]);
      assert.deepEqual(found.store, { engine, schema_version: currentSchema.version });
      const { code, stdout } = await check(location);
      assert.equal(code, 0);
      assert.match(stdout, /^Postern \d+\.\d+\.\d+, schema version \d+; (sqlite|postgres) store, schema version \d+\n/);
      assert.match(stdout, /a downgrade is possible/);
    });

    test('names every step of a pending migration, and changes nothing', async (t) => {
      const location = await emptyLocation(t, engine);
      await (await openAt(location)).close();
      const next = await nextVersion('breaking');
      const run = byNextVersion(t, next);
      const version = () => querySql(location, "SELECT value FROM meta WHERE name = 'schema_version'");
      const before = await version();
      const files = readdirSync(location.dataDir).sort();
      const found = await answer(location, [], run);
      assert.deepEqual([found.code, found.ok, found.can_downgrade], [0, true, false]);
      assert.deepEqual(found.migrations, [
        {
          version: next.schema.version,
          steps: ['create the table made_up', 'drop the index events_by_created_at_ms'],
        },
      ]);
      assert.match(
        (await check(location, [], run)).stdout,
        /downgrade is impossible[^\n]*\n[^\n]*postern store backup FILE/,
      );
      assert.deepEqual(await version(), before);
      assert.deepEqual(
        readdirSync(location.dataDir)
          .filter((name) => !/-(wal|shm)$/.test(name))
          .sort(),
        files.filter((name) => !/-(wal|shm)$/.test(name)),
      );
    });

    test('fails for a store that a newer version migrated', async (t) => {
      const location = await emptyLocation(t, engine);
      await (await openAt(location)).close();
      await querySql(location, "UPDATE meta SET value = '99' WHERE name = 'schema_version'");
      const found = await answer(location);
      assert.deepEqual([found.code, found.ok, found.can_downgrade], [1, false, false]);
      assert.match(found.findings[0]?.message ?? '', /schema version 99.*up to \d+/);
    });

    test('fails for another secret key, without printing it', async (t) => {
      const location = await emptyLocation(t, engine);
      await (await openAt(location)).close();
      const key = Buffer.alloc(32, 7).toString('base64');
      const found = await answer(location, ['--secret-key', key]);
      assert.equal(found.code, 1);
      assert.match(found.findings[0]?.message ?? '', /written with secret key/);
      assert(!JSON.stringify(found).includes(key));
    });
  });
}

test('reports servers of an older version, which a migration waits for', async (t) => {
  const location = await emptyLocation(t, 'postgres');
  await openAt(location);
  const run = byNextVersion(t, await nextVersion('breaking'));
  const found = await answer(location, [], run);
  assert.deepEqual([found.code, found.older_servers], [1, 1]);
  assert.match(JSON.stringify(found.findings), /stop them first, or set database_migrate_under_old_nodes/);
  const allowed = await answer(location, ['--database-migrate-under-old-nodes'], run);
  assert.deepEqual([allowed.code, allowed.older_servers], [0, 1]);
});

test('names the server that runs on a data directory', async (t) => {
  const location = await emptyLocation(t, 'sqlite');
  const store = await openAt(location);
  const found = await answer(location);
  assert.equal(found.code, 0);
  assert.match(JSON.stringify(found.findings), new RegExp(`process ${process.pid} runs on this store`));
  await store.close();
  assert.doesNotMatch(JSON.stringify((await answer(location)).findings), /runs on this store/);
});

test('warns that there is no store, which a mistyped folder or a new volume looks like, and creates none', async (t) => {
  const dataDir = join(await tempDir(t), 'new');
  const { code, stdout } = await runCommand(['upgrade-check', '--data-dir', dataDir]);
  assert.equal(code, 0);
  assert.match(stdout, /; no sqlite store\n/);
  assert.match(stdout, /^warning +store +there is no store in .*nothing was checked/m);
  assert.ok(stdout.includes(`no store in ${dataDir}`), stdout);
  assert.match(stdout, /--data-dir[^\n]*mount the volume of the running one/);
  assert.throws(() => readdirSync(dataDir), /ENOENT/);
});

test('does not take a data directory that it cannot look into for an empty one', async (t) => {
  const file = join(await tempDir(t), 'file');
  writeFileSync(file, '');
  const loop = join(await tempDir(t), 'loop');
  symlinkSync(loop, loop);
  for (const [dataDir, why] of [
    [file, 'ENOTDIR'],
    [loop, 'ELOOP'],
  ] as const) {
    const { code, stdout } = await runCommand(['upgrade-check', '--data-dir', dataDir]);
    assert.equal(code, 1, stdout);
    assert.match(stdout, new RegExp(`the data directory ${dataDir} cannot be read \\(${why}\\)`));
    assert.match(stdout, /as its user/);
  }
});

test('fails when the store cannot be read, and says so in both forms', async (t) => {
  const location = await emptyLocation(t, 'sqlite');
  await (await openAt(location)).close();
  const path = databasePath(location.dataDir);
  const bytes = readFileSync(path);
  for (const suffix of ['-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true });
  writeFileSync(path, Buffer.alloc(bytes.length, 'x'));
  const found = await answer(location);
  assert.deepEqual([found.code, found.ok, found.store], [1, false, null]);
  assert.match((await check(location)).stdout, /the store cannot be read/);
});

test('rejects wrong usage with 2', async () => {
  assert.equal((await runCommand(['upgrade-check', 'now'])).code, 2);
  assert.equal((await runCommand(['upgrade-check', '--jsn'])).code, 2);
});
