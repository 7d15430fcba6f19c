import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chownSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StoreLocation } from '../../src/store/offline-database.ts';
import { type Disk, fillerOn } from '../store/disk-filler.ts';
import { querySql } from '../store/engines.ts';
import { MOUNTING_REFUSED, mountSmallDisk } from '../store/small-disk.ts';
import type { Answer, ApiConnection } from '../support/api-connection.ts';
import { freshDatabase, startPostgres } from '../support/postgres.ts';
import { isLong } from '../support/share-of-cases.ts';
import { tempDir } from '../support/temp-dir.ts';
import { checkDatabase } from './database-checks.ts';
import { assertKept, fill } from './filling-writer.ts';
import { spawnUnderFire, startUnderFire } from './server-under-fire.ts';

const WRITERS = 8;
const REFUSED_UNTIL_FULL = isLong ? 40 : 16;
const FULL_WORDS = /^postern: .*(full|no space|ENOSPC)/i;
const NEVER_SUBSCRIBED = Number.MAX_SAFE_INTEGER;

test('SQLite on a full disk', async (t) => {
  const disk = mountSmallDisk(t, 12);
  if (disk === null) {
    console.error(MOUNTING_REFUSED);
    t.skip(MOUNTING_REFUSED);
    return;
  }
  t.diagnostic('a tmpfs of 12 MB was filled');
  const location: StoreLocation = { engine: 'sqlite', dataDir: join(disk, 'data') };
  await survivesFullDisk(t, location, fillerOn(disk, 2));

  await t.test(
    'a first start on a full disk is rejected with a message, and works once there is space',
    async (each) => {
      const fresh: StoreLocation = { engine: 'sqlite', dataDir: join(disk, 'fresh') };
      const filler = fillerOn(disk, 0);
      filler.fillUp();
      assert.match((await refusalOfStart(each, fresh)) ?? 'it started', FULL_WORDS);
      filler.free();
      const { api, kill } = await startUnderFire(each, fresh);
      assert.equal((await api.send('POST', '/ip_policies', {})).status, 201);
      await kill();
    },
  );
});

test('SQLite at the file size limit, like a quota', async (t) => {
  const location: StoreLocation = { engine: 'sqlite', dataDir: join(await tempDir(t), 'data') };
  const pid = () => readFileSync(join(location.dataDir, 'postern.pid'), 'utf8').trim();
  await survivesFullDisk(t, location, {
    fillUp: () => limitFileSize(pid(), String(2 * 1024 * 1024)),
    free: () => limitFileSize(pid(), 'unlimited'),
  });
});

test('PostgreSQL whose tablespace is full', async (t) => {
  const disk = mountSmallDisk(t, 8);
  if (disk === null) {
    console.error(MOUNTING_REFUSED);
    t.skip(MOUNTING_REFUSED);
    return;
  }
  const postgres = await startPostgres();
  t.after(() => postgres.stop());
  const database = await freshDatabase(postgres);
  const location: StoreLocation = {
    engine: 'postgres',
    dataDir: join(await tempDir(t), 'data'),
    url: database.url,
  };
  await moveTables(location, disk);
  await survivesFullDisk(t, location, fillerOn(disk, 2));
  await database.drop();
});

/** Two full phases with space between them, in one process; then killed, and inspected from outside. */
async function survivesFullDisk(t: TestContext, location: StoreLocation, disk: Disk): Promise<void> {
  const { api, kill } = await startUnderFire(t, location);
  const kept = new Map<string, string>();
  const counts = { acknowledged: 0, refused: 0 };
  for (let phase = 0; phase < 2; phase += 1) {
    disk.fillUp();
    const filled = await fill(api, {
      writers: WRITERS,
      bytes: 40_000,
      isEnough: (answers) => refused(answers) >= REFUSED_UNTIL_FULL,
    });
    for (const answer of filled.answers) assertAnswer(answer);
    for (const [id, body] of filled.kept) kept.set(id, body);
    counts.acknowledged += filled.kept.size;
    counts.refused += refused(filled.answers);
    // Reads continue, and so does the process.
    await assertKept(api, kept);
    assert.equal((await api.send('GET', '/healthz')).status, 200);
    disk.free();
    await untilWritten(api, kept);
  }
  t.diagnostic(`${counts.acknowledged} writes acknowledged until full, ${counts.refused} refused with 507`);
  await kill();
  const again = await startUnderFire(t, location);
  await assertKept(again.api, kept);
  const { problems } = await checkDatabase(location, { subscribedFrom: NEVER_SUBSCRIBED });
  assert.deepEqual(problems, []);
  await again.kill();
}

/** The program's message when it does not start; null when it starts. It is stopped afterwards. */
async function refusalOfStart(t: TestContext, location: StoreLocation): Promise<string | null> {
  const process = spawnUnderFire(t, location);
  const isReady = await process.ready().then(
    () => true,
    () => false,
  );
  process.child.kill('SIGKILL');
  const { code } = await process.exited;
  if (isReady) return null;
  assert.equal(code, 1, `neither ready nor ended: ${process.stdout()}`);
  return process.stderr().trim();
}

function refused(answers: readonly Answer[]): number {
  return answers.filter(({ status }) => status === 507).length;
}

function assertAnswer({ status, body }: Answer): void {
  if (status === 201) return;
  assert.equal(status, 507, JSON.stringify(body));
  assert.equal(body.error_code, 'ERR_POSTERN_STORE_FULL');
  assert.match(body.msg, /(full|no space).*nothing was applied.*free space/i);
}

/** A write may still hit the leftovers of the last one; it must work immediately or soon, without a restart. */
async function untilWritten(api: ApiConnection, kept: Map<string, string>): Promise<void> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const body = 'x'.repeat(20_000);
    const answer = await api.send('POST', '/backends/http_response', { body });
    assertAnswer(answer);
    if (answer.status === 201) {
      kept.set(answer.body.id as string, body);
      return;
    }
    assert.ok(Date.now() < deadline, 'writes did not come back after space was freed');
    await sleep(50);
  }
}

/** RLIMIT_FSIZE, soft only: a write beyond it fails with EFBIG. */
function limitFileSize(pid: string, bytes: string): void {
  const { status, stderr } = spawnSync('prlimit', ['--pid', pid, `--fsize=${bytes}:unlimited`], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
}

/** Only the tables of the future store lie on the disk. */
async function moveTables(location: StoreLocation, disk: string): Promise<void> {
  const directory = join(disk, 'tablespace');
  mkdirSync(directory);
  if (process.getuid?.() === 0) chownSync(directory, 65_534, 65_534);
  const name = `full_${process.pid}`;
  await querySql(location, `CREATE TABLESPACE ${name} LOCATION '${directory}'`);
  const [row] = await querySql(location, 'SELECT current_database() AS name');
  await querySql(location, `ALTER DATABASE ${String(row?.['name'])} SET default_tablespace = ${name}`);
}
