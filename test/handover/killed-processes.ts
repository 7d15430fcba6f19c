import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pino from 'pino';
import { type HandoverOptions, handOver } from '../../src/app/main/handover/hand-over.ts';
import type { OpenSocket } from '../../src/app/main/sockets/listening-sockets.ts';

/** The moments of a handover at which a process may end. */
export const HANDOVER_STEPS = ['loading', 'accepting agents', 'awaiting agents', 'serving', 'after serving'] as const;
export type HandoverStep = (typeof HANDOVER_STEPS)[number];

export const NEW_PROCESS = fileURLToPath(new URL('./new-process.ts', import.meta.url));
const OLD_PROCESS = fileURLToPath(new URL('./old-process.ts', import.meta.url));

/** The new process dies at this step of the handover, and this process goes on as before. */
export async function killNewProcess(t: TestContext, step: HandoverStep): Promise<void> {
  const old = await oldProcess(t);
  await assert.rejects(old.handOver([NEW_PROCESS, step, 'dies']), {
    code: 'ERR_POSTERN_HANDOVER',
    message: /was ended by SIGKILL before it could take over/,
  });
  await old.isUntouched(step !== 'loading' && step !== 'accepting agents');
}

/** The old process dies at this step of the handover, and the new one serves alone. */
export async function killOldProcess(t: TestContext, step: HandoverStep): Promise<void> {
  const child = spawn(process.execPath, [OLD_PROCESS, step], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line);
    // The old process has only sent a message then, and has no step of its own to be killed at.
    if (step === 'serving' && line.startsWith('new serving')) child.kill('SIGKILL');
  });
  const pid = (): number =>
    Number(
      lines
        .find((line) => line.startsWith('new '))
        ?.split(' ')
        .at(-1),
    );
  t.after(() => {
    child.kill('SIGKILL');
    if (pid() > 0) process.kill(pid(), 'SIGKILL');
  });
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  assert.equal(child.signalCode, 'SIGKILL');
  while (!lines.some((line) => line.startsWith('new is alone'))) await sleep(5);
  const ports =
    lines
      .find((line) => line.startsWith('ports'))
      ?.split(' ')
      .slice(1)
      .map(Number) ?? [];
  for (const port of ports) assert.equal(await answerOf(port), String(pid()));
}

export interface OldProcess {
  handOver(args: readonly string[], options?: Partial<HandoverOptions>): Promise<unknown>;
  /** The old process accepts on both ports, alone, and the store is its own again. */
  isUntouched(wereAgentsSentAway: boolean): Promise<void>;
}

/** This process in the role of the old one, with two listeners. */
export async function oldProcess(t: TestContext): Promise<OldProcess> {
  const sockets = await Promise.all(['edge', 'tunnel'].map((name) => listening(t, name)));
  const [, tunnel] = sockets;
  const seen = { shared: 0, takenBack: 0 };
  return {
    handOver: (args, options = {}) =>
      handOver(
        {
          owned: Promise.resolve(),
          sockets: () => sockets,
          store: { dataDir: '/', mark: async () => ({ number: 1, id: 'one' }) },
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
          env: process.env,
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
