import { createServer } from 'node:net';
import { Predecessor } from '../../src/app/main/handover/predecessor.ts';
import type { HandoverStep } from './killed-processes.ts';

/** Runs as its own process: takes over one listener, and dies or hangs at a step. Responds with its process id. */
const [, , step, how] = process.argv as [string, string, HandoverStep, 'dies' | 'hangs' | 'fails'];

async function at(reached: HandoverStep): Promise<void> {
  process.stdout.write(`new ${reached} ${process.pid}\n`);
  if (reached !== step) return;
  if (how === 'dies') process.kill(process.pid, 'SIGKILL');
  if (how === 'fails') throw new Error('the test let it fail');
  await new Promise((resolve) => setTimeout(resolve, 600_000));
}

const predecessor = await Predecessor.find(process.env);
if (predecessor === null) throw new Error('it was not started to take over');
try {
  await at('loading');
  const server = createServer((socket) => socket.on('error', () => {}).end(String(process.pid)));
  const agents = createServer((socket) => socket.on('error', () => {}).end(String(process.pid)));
  const address = { host: '127.0.0.1', port: 0 };
  await predecessor.sockets.open(server, 'edge_listen', address);
  await predecessor.sockets.open(agents, 'tunnel_listen', address);
  await predecessor.takeOver({
    acceptAgents: async () => {
      await at('accepting agents');
      await predecessor.sockets.start('tunnel');
    },
    missingTunnels: () => {
      void at('awaiting agents');
      return step === 'awaiting agents' && how === 'hangs' ? 1 : 0;
    },
    serve: async () => {
      await at('serving');
      await predecessor.sockets.start();
      await at('after serving');
    },
  });
  process.stdout.write(`new serves ${process.pid}\n`);
  await predecessor.gone;
  process.stdout.write(`new is alone ${process.pid}\n`);
} catch (error) {
  await predecessor.failed(error);
  process.exit(1);
}
