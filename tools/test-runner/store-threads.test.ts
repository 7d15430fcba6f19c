import assert from 'node:assert/strict';
import { type EventEmitter, once } from 'node:events';
import { readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { tempDir } from '../../test/support/temp-dir.ts';
import { StoreThreads } from './store-threads.ts';

const SCRIPT = `
  const { openSync } = require('node:fs');
  const { DatabaseSync } = require('node:sqlite');
  const { parentPort, workerData } = require('node:worker_threads');
  if (workerData.refuses) throw Object.assign(new Error('refused'), { code: 'ERR_EXAMPLE', status: 507 });
  const database = new DatabaseSync(workerData.path);
  openSync(workerData.path + '.beside', 'w');
  let count = 0;
  parentPort.on('message', (message) => {
    count += 1;
    parentPort.postMessage({ of: workerData.path, count, message });
  });`;

interface Program extends EventEmitter {
  postMessage(message: unknown): void;
  terminate(): Promise<void>;
}

async function threads(t: TestContext) {
  const folder = await tempDir(t);
  writeFileSync(join(folder, 'script.cjs'), SCRIPT);
  const shared = new StoreThreads(join(folder, 'script.cjs'));
  const start = (workerData: object) => shared.start({ workerData }) as Program;
  const ask = async (program: Program, message: unknown): Promise<unknown> => {
    const answered = once(program, 'message');
    program.postMessage(message);
    return (await answered)[0];
  };
  const openFiles = () => {
    const targets = readdirSync('/proc/self/fd').map((descriptor) => targetOf(`/proc/self/fd/${descriptor}`));
    return targets.filter((target) => target.startsWith(folder)).sort();
  };
  return { folder, start, ask, openFiles };
}

test('programs in one thread have their own state, data and messages', async (t) => {
  const { folder, start, ask } = await threads(t);
  const [one, two] = [join(folder, 'one'), join(folder, 'two')];
  const [first, second] = [start({ path: one }), start({ path: two })];
  t.after(() => Promise.all([first.terminate(), second.terminate()]));
  assert.deepEqual(await ask(first, 'a'), { of: one, count: 1, message: 'a' });
  assert.deepEqual(await ask(second, 'b'), { of: two, count: 1, message: 'b' });
  assert.deepEqual(await ask(first, 'c'), { of: one, count: 2, message: 'c' });
});

test('the end of a program closes what it has open, and nothing of others', async (t) => {
  const { folder, start, ask, openFiles } = await threads(t);
  const [one, two] = [join(folder, 'one'), join(folder, 'two')];
  const [first, second] = [start({ path: one }), start({ path: two })];
  await Promise.all([ask(first, ''), ask(second, '')]);
  assert.deepEqual(openFiles(), [one, `${one}.beside`, two, `${two}.beside`]);
  const exited = once(first, 'exit');
  await first.terminate();
  assert.deepEqual(await exited, [1]);
  assert.deepEqual(openFiles(), [two, `${two}.beside`]);
  await first.terminate();
  await second.terminate();
  assert.deepEqual(openFiles(), []);
});

test('a program that does not start ends with the fields of its error, and the next one starts', async (t) => {
  const { folder, start, ask } = await threads(t);
  const refused = start({ refuses: true });
  const exited = new Promise((resolve) => refused.once('exit', resolve));
  const [error] = await once(refused, 'error');
  assert.deepEqual([error.message, error.code, error.status], ['refused', 'ERR_EXAMPLE', 507]);
  await exited;
  const next = start({ path: join(folder, 'next') });
  assert.deepEqual(await ask(next, 'a'), { of: join(folder, 'next'), count: 1, message: 'a' });
  await next.terminate();
});

function targetOf(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    // The descriptor was closed in the meantime.
    return '';
  }
}
