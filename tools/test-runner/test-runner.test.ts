import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { tempDir } from '../../test/support/temp-dir.ts';
import { planBatches } from './plan-batches.ts';
import type { Outcome } from './run-files.ts';

const RUN_FILES = new URL('./run-files.ts', import.meta.url).href;
const HEAD = `import { test } from 'node:test';\n`;

async function filesWith(t: TestContext, texts: Readonly<Record<string, string>>) {
  const root = await tempDir(t);
  mkdirSync(join(root, 'test'));
  const files = Object.entries(texts).map(([name, text]) => {
    const path = join(root, 'test', `${name}.test.ts`);
    writeFileSync(path, text);
    return path;
  });
  return { root, files };
}

/** In another process: node:test refuses to run files from within a test. */
async function run(
  t: TestContext,
  texts: Readonly<Record<string, string>>,
  fileTimeoutMs = 30_000,
): Promise<Outcome & { readonly output: string }> {
  const { root, files } = await filesWith(t, texts);
  const options = { root, directory: root, concurrency: 2, fileTimeoutMs, closeGraceMs: 300 };
  const script = `import { runFiles } from '${RUN_FILES}';
    const outcome = await runFiles(${JSON.stringify(files)}, ${JSON.stringify(options)});
    process.stdout.write('\\nOUTCOME ' + JSON.stringify(outcome));`;
  // A file, since node:test hands its own flags on to the processes it starts, and `-e` is one.
  const main = join(root, 'main.mjs');
  writeFileSync(main, script);
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const output = await new Promise<string>((resolve, reject) => {
    execFile(process.execPath, [main], { env, cwd: root }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(stderr, { cause: error }));
    });
  });
  const [report = '', outcome = ''] = output.split('\nOUTCOME ');
  return { ...(JSON.parse(outcome) as Outcome), output: report };
}

suite('planBatches', () => {
  test('gives a marked file a process of its own and starts it first', async (t) => {
    const { files } = await filesWith(t, { a: HEAD, b: `// Own process: measures memory.\n${HEAD}`, c: HEAD });
    const [a, b, c] = files;
    assert.deepEqual(planBatches(files), [{ files: [b] }, { files: [a, c] }]);
  });

  test('puts files that name the same process together', async (t) => {
    const marked = `// Process of test CAs: read once.\n${HEAD}`;
    const { files } = await filesWith(t, { a: HEAD, b: marked, c: HEAD, d: marked });
    const [a, b, c, d] = files;
    assert.deepEqual(planBatches(files), [{ files: [b, d] }, { files: [a, c] }]);
  });

  test('contains every file exactly once, at most forty in a batch', async (t) => {
    const texts = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`file-${index}`, HEAD]));
    const { files } = await filesWith(t, texts);
    const batches = planBatches(files);
    assert.deepEqual(batches.flatMap((batch) => batch.files).sort(), [...files].sort());
    assert.deepEqual(
      batches.map((batch) => batch.files.length),
      [34, 34, 32],
    );
  });

  test('starts what takes longest first and unit tests last, and lets small folders share a batch', async (t) => {
    const root = await tempDir(t);
    const write = (name: string, text = HEAD): string => {
      const path = join(root, `${name}.test.ts`);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
      return path;
    };
    const [unit, edge, memory] = [
      write('src/a'),
      write('test/edge/b'),
      write('c', '// Own process: measures memory.\n'),
    ];
    const [first, second] = [write('test/up/d'), write('test/up/e')];
    const long = write('test/nodes/f', '// Own process: takes long.\n');
    assert.deepEqual(planBatches([unit, edge, memory, first, second, long]), [
      { files: [long] },
      { files: [memory] },
      { files: [first, second, edge] },
      { files: [unit] },
    ]);
  });
});

suite('runFiles', () => {
  test("starts a server's threads from the bundle, and one for all stores of files that share a process", async (t) => {
    const program = await tempDir(t);
    const folder = join(program, 'dist', 'store', 'sqlite');
    mkdirSync(folder, { recursive: true });
    const answer = (from: string) =>
      `const { parentPort } = require('node:worker_threads'); parentPort.postMessage('${from}');`;
    writeFileSync(join(folder, 'worker.js'), answer('a thread of its own'));
    writeFileSync(join(program, 'store-thread.cjs'), answer('the shared thread'));
    const before = process.env['POSTERN_TEST_PROGRAM'];
    process.env['POSTERN_TEST_PROGRAM'] = join(program, 'bin', 'postern.mjs');
    t.after(() => {
      if (before === undefined) delete process.env['POSTERN_TEST_PROGRAM'];
      else process.env['POSTERN_TEST_PROGRAM'] = before;
    });
    const source = new URL('../../src/store/sqlite/worker.ts', import.meta.url).href;
    const hears = (expected: string) => `${HEAD} import { Worker } from 'node:worker_threads';
        test('hears the thread', async () => {
          const worker = new Worker(new URL('${source}'), { workerData: { path: ':memory:', access: 'write' } });
          const said = await new Promise((resolve) => worker.once('message', resolve).once('exit', resolve));
          await worker.terminate();
          if (said !== '${expected}') throw new Error(String(said));
        });`;
    const outcome = await run(t, {
      one: hears('the shared thread'),
      two: `// Own process: for this test.\n${hears('a thread of its own')}`,
    });
    assert.deepEqual([outcome.passed, outcome.failures], [2, []], outcome.output);
  });

  test('counts tests, subtests and skipped tests, but no files', async (t) => {
    const outcome = await run(t, {
      one: `${HEAD} test('parent', async (t) => { await t.test('child', () => {}); }); test('not now', { skip: true }, () => {});`,
      two: `${HEAD} test('declared late', () => {});`,
    });
    assert.deepEqual([outcome.passed, outcome.skipped, outcome.failures], [3, 1, []]);
    assert.match(outcome.output, /test\/one\.test\.ts[\s\S]*parent[\s\S]*child/);
  });

  test('names the file and the test of a failure and runs the other files', async (t) => {
    const outcome = await run(t, {
      one: `${HEAD} test('wrong', () => { throw new Error('expected'); });`,
      two: `${HEAD} test('right', () => {});`,
    });
    assert.deepEqual([outcome.passed, outcome.failures], [1, ['test/one.test.ts: wrong']]);
    assert.deepEqual(outcome.failedFiles, ['test/one.test.ts']);
  });

  test('names the suites around a failing test, and the test around a failing subtest', async (t) => {
    const wrong = `() => { throw new Error('expected'); }`;
    const outcome = await run(t, {
      one: `${HEAD} import { suite } from 'node:test';
        suite('outer', () => {
          suite('inner', () => { test('wrong', ${wrong}); test('right', () => {}); });
          suite('concurrent', { concurrency: 2 }, () => {
            test('late', () => new Promise((resolve) => setTimeout(resolve, 50)).then(${wrong}));
            test('early', ${wrong});
          });
          test('parent', async (t) => { await t.test('child', ${wrong}); });
        });
        test('alone', ${wrong});`,
      two: `${HEAD} import { suite } from 'node:test'; suite('other', () => { test('wrong', ${wrong}); });`,
    });
    assert.deepEqual(outcome.failures, [
      'test/one.test.ts: outer › inner › wrong',
      'test/one.test.ts: outer › concurrent › late',
      'test/one.test.ts: outer › concurrent › early',
      'test/one.test.ts: outer › parent › child',
      'test/one.test.ts: outer › parent',
      'test/one.test.ts: alone',
      'test/two.test.ts: other › wrong',
    ]);
  });

  test('finds the test of an error that nothing catches, and of a subtest that starts late', async (t) => {
    const outcome = await run(t, {
      one: `${HEAD} import { after } from 'node:test'; import { setTimeout as sleep } from 'node:timers/promises';
        const forever = () => new Promise((resolve) => setTimeout(resolve, 60_000).unref());
        test('throws in a timer', async () => { setTimeout(() => { throw new Error('expected'); }, 20); await forever(); });
        test('rejects', async () => { setTimeout(() => Promise.reject(new Error('expected')), 20); await forever(); });
        test('starts late', async () => {
          await sleep(5);
          after(() => console.log('after the late one'));
          await test('child', async () => { await sleep(5); throw new Error('expected'); });
        });
        test('right', () => {});`,
    });
    assert.deepEqual(outcome.failures, [
      'test/one.test.ts: throws in a timer',
      'test/one.test.ts: rejects',
      'test/one.test.ts: starts late › child',
      'test/one.test.ts: starts late',
    ]);
    assert.equal(outcome.passed, 1);
    assert.match(outcome.output, /after the late one/);
  });

  test('fails for a suite whose own code or hook throws, although all tests pass', async (t) => {
    const outcome = await run(t, {
      one: `${HEAD} import { suite } from 'node:test';
        test('right', () => {}); suite('throws', () => { throw new Error('expected'); });`,
      two: `${HEAD} import { after, suite } from 'node:test';
        suite('cleans up', () => { after(() => { throw new Error('expected'); }); test('right', () => {}); });`,
    });
    assert.deepEqual(outcome.failures, [
      'test/one.test.ts: throws: the suite itself',
      'test/two.test.ts: cleans up: the suite itself',
    ]);
  });

  test('fails a file that cannot be loaded and runs the other files', async (t) => {
    const outcome = await run(t, {
      one: `import './missing.ts';`,
      two: `${HEAD} test('right', () => {});`,
    });
    assert.deepEqual([outcome.passed, outcome.failures], [1, ['test/one.test.ts: the file itself']]);
  });

  test('names the file that ended the process of its batch', async (t) => {
    const outcome = await run(t, {
      one: `${HEAD} test('right', () => {});`,
      two: `${HEAD} test('exits', () => process.exit(3));`,
      three: `${HEAD} test('never runs', () => {});`,
    });
    assert.deepEqual(outcome.failures, ['test/two.test.ts: ended the process of its batch']);
    assert.match(outcome.failedFiles.join(), /^[^,]*\/batch-001\.mjs$/, 'the third file did not run');
  });

  test('fails a file that leaves a socket open, changes the environment or replaces fetch', async (t) => {
    const outcome = await run(t, {
      one: `${HEAD} import { createServer } from 'node:net'; test('listens', () => { createServer().listen(0, '127.0.0.1'); });`,
      two: `${HEAD} test('sets', () => { process.env.LEFT_BEHIND = '1'; });`,
      three: `${HEAD} test('replaces', () => { globalThis.fetch = () => {}; });`,
    });
    assert.equal(outcome.passed, 3);
    assert.deepEqual(
      outcome.failures.map((failure) => failure.replace(/^.*?: (test\/.*)$/, '$1')),
      ['one', 'two', 'three'].map((name) => `test/${name}.test.ts leaves the process as it found it`),
    );
    assert.deepEqual(
      outcome.failedFiles,
      ['one', 'two', 'three'].map((name) => `test/${name}.test.ts`),
    );
    assert.match(outcome.output, /TCPServerWrap[\s\S]*env LEFT_BEHIND[\s\S]*'fetch'/);
  });

  test('ends the process of a file that ran into its limit with a server open', async (t) => {
    const outcome = await run(
      t,
      {
        one: `// Own process: for this test.\n${HEAD} import { createServer } from 'node:net';
          createServer().listen(0, '127.0.0.1'); test('waits', () => new Promise(() => {}));`,
        // Raises the limit of the whole run far above that of a file, which must not be what ends the process.
        ...Object.fromEntries(
          Array.from({ length: 10 }, (_, at) => [`quick-${at}`, `${HEAD} test('right', () => {});`]),
        ),
      },
      2000,
    );
    assert.equal(outcome.passed, 10);
    assert.match(outcome.failures.join(), /one\.test\.ts/);
    assert.doesNotMatch(outcome.output, /timed out after 20000ms/);
  });
});
