import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import pino from 'pino';
import { handOver } from '../../src/app/main/handover/hand-over.ts';
import type { HandoverStep } from './killed-processes.ts';

/** Runs as its own process: hands over one listener, and is killed at a step. Responds with its process id. */
const [, , step] = process.argv as [string, string, HandoverStep];

function at(reached: HandoverStep): void {
  if (reached === step) process.kill(process.pid, 'SIGKILL');
}

const servers = await Promise.all(
  ['edge', 'tunnel'].map(async (name) => {
    const server = createServer((socket) => socket.on('error', () => {}).end(String(process.pid)));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    return { name, wanted: '127.0.0.1:0', address: { host: '127.0.0.1', port }, server };
  }),
);
process.stdout.write(`ports ${servers.map(({ address }) => address.port).join(' ')}\n`);
const logger = pino({ level: 'silent' });
const program = fileURLToPath(new URL('./new-process.ts', import.meta.url));
// The channel to the new process is established before the first step of this one.
setTimeout(() => at('loading'), 50);
await handOver(
  {
    owned: Promise.resolve(),
    sockets: () => servers,
    store: { dataDir: '/', mark: async () => ({ number: 1, id: 'one' }) },
    sharing: { begin: () => {}, end: () => {} },
    agents: {
      sendAway: () => {
        at('accepting agents');
        servers[1]?.server.close();
        setImmediate(() => at('awaiting agents'));
        return ['https://a.localhost'];
      },
      takeBack: async () => {},
      remaining: () => 1,
    },
  },
  {
    command: process.execPath,
    args: [program, 'none', 'dies'],
    env: process.env,
    timeoutMs: 60_000,
    logger,
    signal: new AbortController().signal,
  },
);
at('after serving');
servers[0]?.server.close();
process.stdout.write('old handed over\n');
