import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isQuick, say } from '../support/flags.ts';
import { h2load } from '../support/h2load.ts';
import { openBench } from '../support/open-bench.ts';
import { rssMiB } from '../support/process-cost.ts';
import { startPosternServer } from '../support/start-program.ts';
import { QUIET } from './postern.ts';
import { makeBackend, makeSite } from './sites.ts';

const CONNECTIONS = isQuick ? 50 : 400;
const REQUESTS = isQuick ? 1000 : 40_000;
const QUIET_SECONDS = isQuick ? 1 : 60;
const GOAL = 1.5;
/** Resident memory before, at the end of, and a minute after a burst of connections. */
export async function burst(directory: string): Promise<void> {
  await using bench = await openBench();
  if (bench === null) return;
  say(`${CONNECTIONS} connections, ${REQUESTS} requests over HTTP/2 and as many over HTTP/1.1`);
  const dataDir = join(directory, 'server');
  await mkdir(dataDir);
  const server = await startPosternServer(dataDir, QUIET);
  bench.stack.defer(() => server.stop());
  const { host } = await makeSite(server.port, 'site.localhost', await makeBackend(server.port, bench.upstream.port));
  const load = { host, port: server.edgePort as number, path: '/json', headers: {}, directory };
  await sleep(2000);
  const rest = rssMiB(server.pid);
  for (const protocol of ['h2', 'h1'] as const) {
    await h2load({ ...load, protocol, requests: REQUESTS, connections: CONNECTIONS, streams: 10 });
  }
  const end = rssMiB(server.pid);
  await sleep(QUIET_SECONDS * 1000);
  const after = rssMiB(server.pid);
  const mib = [rest, end, after].map((each) => each.toFixed(0)).join(', ');
  say(
    `${mib} MiB at rest, at the end, after ${QUIET_SECONDS} s: ${(after / rest).toFixed(2)} × (goal at most ${GOAL})`,
  );
}
