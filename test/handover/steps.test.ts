import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pino from 'pino';
import { type HandoverOptions, handOver } from '../../src/main/handover/hand-over.ts';
import type { OpenSocket } from '../../src/main/listening-sockets.ts';
import { HANDOVER_STEPS, type HandoverStep } from './steps.ts';

const NEW = fileURLToPath(new URL('./new-process.ts', import.meta.url));
const OLD = fileURLToPath(new URL('./old-process.ts', import.meta.url));
/** A process that does not end must fail the test, not hang it. */
const TIMEOUT_MS = 240_000;

suite('a new process that does not take over', { timeout: TIMEOUT_MS }, () => {
  for (const step of HANDOVER_STEPS) {
    // After it has said that it serves, its end is that of any server.
    if (step === 'after serving') continue;
    test(`killed at "${step}": the old process goes on`, async (t) => {
      const old = await oldProcess(t);
      await assert.rejects(old.handOver([NEW, step, 'dies']), {
        code: 'ERR_POSTERN_HANDOVER',
        message: /was ended by SIGKILL before it could take over/,
      });
      await old.isUntouched(step !== 'loading' && step !== 'accepting agents');
    });
  }

  test('reports why it cannot start', async (t) => {
    const old = await oldProcess(t);
    await assert.rejects(old.handOver([NEW, 'loading', 'fails']), { message: 'the test let it fail' });
    await old.isUntouched(false);
  });

  test('is ended when it hangs, at the first step and at a later one', async (t) => {
    const old = await oldProcess(t);
    await assert.rejects(old.handOver([NEW, 'loading', 'hangs'], { timeoutMs: 1500 }), {
      message: /did not get ready within 1.5 s/,
    });
    await old.isUntouched(false);
    await assert.rejects(old.handOver([NEW, 'serving', 'hangs'], { stepTimeoutMs: 1500 }), {
      message: /did not get ready within 1.5 s/,
    });
    await old.isUntouched(true);
  });

  test('does not exist, or is no Postern', async (t) => {
    const old = await oldProcess(t);
    await assert.rejects(old.handOver([], { command: '/nonexistent/postern' }), {
      message: /the new program cannot be started: spawn \/nonexistent\/postern ENOENT/,
    });
    await assert.rejects(old.handOver(['-e', 'process.exit(3)']), { message: /exited with code 3 before/ });
    await old.isUntouched(false);
  });

  test('is ended when the old process has to stop', async (t) => {
    const old = await oldProcess(t);
    const stop = new AbortController();
    const handedOver = old.handOver([NEW, 'loading', 'hangs'], { signal: stop.signal });
    setTimeout(() => stop.abort(), 100);
    await assert.rejects(handedOver, { message: 'the server is being stopped' });
    await old.isUntouched(false);
  });
});

suite('an old process that is killed', { timeout: TIMEOUT_MS }, () => {
  for (const step of HANDOVER_STEPS) {
    test(`at "${step}": the new process serves alone`, async (t) => {
      const child = spawn(process.execPath, [OLD, step], { stdio: ['ignore', 'pipe', 'inherit'] });
      const lines: string[] = [];
      createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
      const pid = (): number => Number(lines.find((line) => line.startsWith('new '))?.split(' ').at(-1));
      t.after(() => {
        child.kill('SIGKILL');
        if (pid() > 0) process.kill(pid(), 'SIGKILL');
      });
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      assert.equal(child.signalCode, 'SIGKILL');
      while (!lines.some((line) => line.startsWith('new is alone'))) await sleep(5);
      const ports = lines.find((line) => line.startsWith('ports'))?.split(' ').slice(1).map(Number) ?? [];
      for (const port of ports) assert.equal(await answerOf(port), String(pid()));
    });
  }
});

interface OldProcess {
  handOver(args: readonly string[], options?: Partial<HandoverOptions>): Promise<unknown>;
  /** It accepts on both ports, alone, and the store is its own again. */
  isUntouched(wereAgentsSentAway: boolean): Promise<void>;
}

async function oldProcess(t: TestContext): Promise<OldProcess> {
  const sockets = await Promise.all(['edge', 'tunnel'].map((name) => listening(t, name)));
  const [, tunnel] = sockets;
  const seen = { shared: 0, takenBack: 0 };
  return {
    handOver: (args, options = {}) =>
      handOver(
        {
          owned: Promise.resolve(),
          sockets: () => sockets,
          sharing: {
            begin: () => {
              seen.shared += 1;
            },
            end: () => {
              seen.shared -= 1;
            },
          },
          agents: {
            sendAway: () => {
              tunnel?.server.close();
              return ['https://a.localhost'];
            },
            takeBack: async () => {
              seen.takenBack += 1;
              await once(tunnel?.server.listen(tunnel.address) as OpenSocket['server'], 'listening');
            },
            remaining: () => 1,
          },
        },
        {
          command: process.execPath,
          args,
          timeoutMs: 60_000,
          logger: pino({ level: 'silent' }),
          signal: new AbortController().signal,
          ...options,
        },
      ),
    isUntouched: async (wereAgentsSentAway) => {
      assert.deepEqual(seen, { shared: 0, takenBack: wereAgentsSentAway ? 1 : 0 });
      // Many: if another process still accepted, it would get some of them.
      for (const { address } of sockets) {
        for (let n = 0; n < 20; n += 1) assert.equal(await answerOf(address.port), String(process.pid));
      }
    },
  };
}

async function listening(t: TestContext, name: string): Promise<OpenSocket> {
  const server = createServer((socket) => socket.on('error', () => {}).end(String(process.pid)));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  return { name, wanted: '127.0.0.1:0', address: { host: '127.0.0.1', port }, server };
}

async function answerOf(port: number): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  return Buffer.concat(await socket.toArray()).toString();
}
