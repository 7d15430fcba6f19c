import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import type { StoreLocation } from '../../src/store/offline-database.ts';
import type { Cleanup } from '../support/cleanup.ts';
import { tempDir } from '../support/temp-dir.ts';
import { answersBeforeSync, type SyncReport } from './answers-before-sync.ts';
import { type ServerUnderFire, startUnderFire } from './server-under-fire.ts';
import { traceProcess, tracingProblem } from './traced-server.ts';

const problem = tracingProblem();
if (problem !== null) console.error(`!! NO TRACE OF FSYNCS WAS TAKEN: ${problem}`);
const needsTrace = problem === null ? {} : { skip: problem };

const WRITERS = 24;
const WRITES_EACH = 3;

const server = problem === null ? await startOnSqlite({ after }) : null;

test('each of several writes is synced before its response', needsTrace, async (t) => {
  const { report, acknowledged } = await traceWrites(t, running(), { writers: 1, writesEach: 5 });
  assert.deepEqual(report.problems, []);
  assert.equal(report.proven, acknowledged);
  // A moment after a write, its entry in the history is linked to the one before. The link is a write of its own.
  const isOneEach = report.syncs >= acknowledged && report.syncs <= 2 * acknowledged;
  assert.ok(isOneEach, `a writer alone pays one sync for each write: ${report.syncs} for ${acknowledged} writes`);
});

test('concurrent writers share syncs, and none is answered before its own', needsTrace, async (t) => {
  const { report, acknowledged } = await traceWrites(t, running(), { writers: WRITERS, writesEach: WRITES_EACH });
  t.diagnostic(`${acknowledged} writes of ${WRITERS} writers with ${report.syncs} syncs of the log`);
  assert.deepEqual(report.problems, []);
  assert.equal(report.proven, WRITERS * WRITES_EACH);
  assert.ok(report.syncs > 0 && report.syncs < acknowledged / 2, `${report.syncs} syncs for ${acknowledged} writes`);
});

test('a store that does not sync is detected', needsTrace, async (t) => {
  const withoutSync = `--import=${new URL('./without-sync.mjs', import.meta.url).href}`;
  const careless = await startOnSqlite(t, { NODE_OPTIONS: withoutSync });
  const { report, acknowledged } = await traceWrites(t, careless, { writers: 1, writesEach: 3 });
  assert.equal(acknowledged, 3, 'nobody but the trace notices');
  assert.equal(report.syncs, 0);
  assert.equal(report.problems.filter((each) => each.endsWith('the log was not synced after it')).length, 3);
});

function running(): ServerUnderFire {
  assert.ok(server !== null);
  return server;
}

async function startOnSqlite(t: Cleanup, env: Readonly<Record<string, string>> = {}): Promise<ServerUnderFire> {
  const location: StoreLocation = { engine: 'sqlite', dataDir: join(await tempDir(t), 'data') };
  return startUnderFire(t, location, { env });
}

async function traceWrites(
  t: TestContext,
  { api, process }: ServerUnderFire,
  { writers, writesEach }: { readonly writers: number; readonly writesEach: number },
): Promise<{ readonly report: SyncReport; readonly acknowledged: number }> {
  const trace = await traceProcess(t, process.child.pid ?? 0);
  const markers: string[] = [];
  const write = async (writer: number): Promise<void> => {
    for (let n = 0; n < writesEach; n += 1) {
      const marker = `marker-${writers}-${writer}-${n}-`;
      const { status, body } = await api.send('POST', '/ip_policies', { description: marker });
      assert.equal(status, 201, JSON.stringify(body));
      markers.push(marker);
    }
  };
  await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
  const calls = await trace.stop();
  return { report: answersBeforeSync(calls, markers), acknowledged: markers.length };
}
