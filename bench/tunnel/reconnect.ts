import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { UPSTREAM } from '../edge/upstream-file.ts';
import { isQuick, say } from '../support/flags.ts';
import { median } from '../support/process-cost.ts';
import { startProgram } from '../support/start-program.ts';
import { openSession } from './transfer.ts';
import { startAgents, startTunnelServer, type TunnelServer } from './tunnel-server.ts';

const ROUNDS = isQuick ? 1 : 5;
const HOST = 'tunnel.localhost';
/** Longer than the agent needs to consider a connection stable, so that every loss starts with a fresh backoff. */
const STABLE_MS = 6000;

/** `kill -9` of the server, which is restarted immediately: how long until requests pass through the tunnel again. */
export async function reconnect(directory: string): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const upstream = await startProgram([UPSTREAM], {});
  stack.defer(() => upstream.stop());
  let server = await startTunnelServer(directory);
  stack.defer(() => server.program.stop());
  const agent = await startAgents(server, [[{ proto: 'https', domain: HOST, addr: `127.0.0.1:${upstream.port}` }]]);
  stack.defer(() => agent.stop());
  const gaps: number[] = [];
  const afterReady: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    await sleep(STABLE_MS);
    const killedAt = performance.now();
    process.kill(server.program.pid, 'SIGKILL');
    server = await server.again();
    const readyAt = performance.now();
    while (!(await isServed(server))) await sleep(5);
    gaps.push(performance.now() - killedAt);
    afterReady.push(performance.now() - readyAt);
  }
  const most = (values: readonly number[]): string => `${Math.max(...values).toFixed(0)} ms at most`;
  say(`${ROUNDS} kills; the agent tries again within 0.1 s, then 0.5 s, 1 s and so on, up to 30 s`);
  say(`from the kill to the first response      ${median(gaps).toFixed(0)} ms, ${most(gaps)}`);
  say(`from the server's ready line to it       ${median(afterReady).toFixed(0)} ms, ${most(afterReady)}`);
}

async function isServed(server: TunnelServer): Promise<boolean> {
  try {
    const session = await openSession({ port: server.edgePort, host: HOST, ca: server.ca });
    const stream = session.request({ ':path': '/' });
    const [headers] = await once(stream, 'response');
    stream.resume();
    session.close();
    return headers[':status'] === 200;
  } catch {
    return false;
  }
}
