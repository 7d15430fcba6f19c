import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { killNewProcess, killOldProcess, NEW_PROCESS, oldProcess } from './killed-processes.ts';

/** A process that does not end must fail the test, not hang it. */
const TIMEOUT_MS = 240_000;

suite('a new process that does not take over', { timeout: TIMEOUT_MS }, () => {
  // All steps are in `test/long/handover.test.ts`.
  for (const step of ['loading', 'awaiting agents'] as const) {
    test(`killed at "${step}": the old process goes on`, (t) => killNewProcess(t, step));
  }

  test('reports why it cannot start', async (t) => {
    const old = await oldProcess(t);
    await assert.rejects(old.handOver([NEW_PROCESS, 'loading', 'fails']), { message: 'the test let it fail' });
    await old.isUntouched(false);
  });

  test('is ended when it hangs, at the first step and at a later one', async (t) => {
    const old = await oldProcess(t);
    await assert.rejects(old.handOver([NEW_PROCESS, 'loading', 'hangs'], { timeoutMs: 1500 }), {
      message: /did not get ready within 1.5 s/,
    });
    await old.isUntouched(false);
    await assert.rejects(old.handOver([NEW_PROCESS, 'serving', 'hangs'], { stepTimeoutMs: 1500 }), {
      message: /did not get ready within 1.5 s/,
    });
    await old.isUntouched(true);
  });

  test('does not exist, or is no Postern', async (t) => {
    const old = await oldProcess(t);
    await assert.rejects(old.handOver([], { command: '/nonexistent/postern' }), {
      message: /the new program cannot be started: spawn \/nonexistent\/postern ENOENT/,
    });
    // The runtime throws this error, and emits the one above.
    await assert.rejects(old.handOver([], { command: `${process.execPath}/postern` }), {
      message: /the new program cannot be started: spawn ENOTDIR/,
    });
    await assert.rejects(old.handOver(['-e', 'process.disconnect(); setInterval(() => {}, 1000)']), {
      message: /closed its channel before it could take over/,
    });
    await assert.rejects(old.handOver(['-e', 'process.exit(3)']), { message: /exited with code 3 before/ });
    // As a shell script does that uses the descriptor for something else. The runtime's own channel would end this
    // process.
    for (const written of ["'a log line\\n'", "'{'.repeat(100_000)"]) {
      await assert.rejects(old.handOver(['-e', `fs.writeSync(3, ${written}); setInterval(() => {}, 1000)`]), {
        message: /is no Postern server that can take over: it wrote something else/,
      });
    }
    const floods =
      'for (const m of [null, 7, {}, { t: 1 }]) process.send(m); process.send({ t: "failed", message: "no" })';
    await assert.rejects(old.handOver(['-e', `${floods}; setInterval(() => {}, 1000)`]), { message: 'no' });
    await old.isUntouched(false);
  });

  test('is ended when the old process has to stop', async (t) => {
    const old = await oldProcess(t);
    const stop = new AbortController();
    const handedOver = old.handOver([NEW_PROCESS, 'loading', 'hangs'], { signal: stop.signal });
    setTimeout(() => stop.abort(), 100);
    await assert.rejects(handedOver, { message: 'the server is being stopped' });
    await old.isUntouched(false);
  });
});

suite('an old process that is killed', { timeout: TIMEOUT_MS }, () => {
  for (const step of ['accepting agents', 'after serving'] as const) {
    test(`at "${step}": the new process serves alone`, (t) => killOldProcess(t, step));
  }
});
