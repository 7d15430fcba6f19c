import { get } from 'node:http';
import { join } from 'node:path';
import { makeBackend, makeSite } from '../edge/sites.ts';
import { isQuick, say } from '../support/flags.ts';
import { h2load } from '../support/h2load.ts';
import { openBench } from '../support/open-bench.ts';
import { cpuNanoseconds, median, quantile } from '../support/process-cost.ts';
import { API_KEY, type Program, startPosternServer } from '../support/start-program.ts';

const HOST = 'watched.localhost';
const REQUESTS_PER_SECOND = 1000;
const ROUND_SECONDS = isQuick ? 1 : 2;
const ROUNDS = isQuick ? 3 : 20;
const WARM_UP_ROUNDS = isQuick ? 1 : 8;
const GOAL = 1.03;

const SETTINGS = {
  POSTERN_ROLES: 'api,edge',
  POSTERN_ACCESS_LOG: 'false',
  POSTERN_LOG_LEVEL: 'warn',
  POSTERN_EDGE_CONNECTIONS_PER_ADDRESS: '0',
};

/** CPU of the server per request with a live view of everything, next to the same without one, round by round. */
export async function liveView(directory: string): Promise<void> {
  await using bench = await openBench();
  if (bench === null) return;
  const { upstream, stack } = bench;
  const server = await startPosternServer(join(directory, 'server'), SETTINGS);
  stack.defer(() => server.stop());
  await makeSite(server.port, HOST, await makeBackend(server.port, upstream.port));
  const costs: { readonly alone: number; readonly watched: number; readonly lines: number }[] = [];
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round += 1) {
    const first = round % 2 === 0;
    const before = first ? await cost(server, directory) : 0;
    const view = await openView(server.port);
    const watched = await cost(server, directory);
    view.close();
    const alone = first ? before : await cost(server, directory);
    if (round >= WARM_UP_ROUNDS) costs.push({ alone, watched, lines: view.lines() });
  }
  const ratios = costs.map(({ alone, watched }) => watched / alone);
  const [low, middle, high] = [0.25, 0.5, 0.75].map((part) => quantile(ratios, part).toFixed(3));
  say(
    `${REQUESTS_PER_SECOND} requests per second: ${median(costs.map(({ alone }) => alone)).toFixed(1)} µs of CPU per request alone, ${median(costs.map(({ watched }) => watched)).toFixed(1)} with a live view: ${middle} × (median of ${ratios.length} rounds, half of them ${low} to ${high}; goal at most ${GOAL}); ${median(costs.map(({ lines }) => lines))} lines per round`,
  );
}

/** Microseconds of the server's CPU per request. */
async function cost(server: Program, directory: string): Promise<number> {
  const requests = REQUESTS_PER_SECOND * ROUND_SECONDS;
  const before = cpuNanoseconds(server.pid);
  await h2load({
    protocol: 'h1',
    host: HOST,
    port: server.edgePort ?? 0,
    path: '/',
    requests,
    perSecond: REQUESTS_PER_SECOND,
    connections: 8,
    streams: 1,
    headers: {},
    directory,
  });
  return (cpuNanoseconds(server.pid) - before) / requests / 1000;
}

function openView(port: number): Promise<{ readonly lines: () => number; readonly close: () => void }> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${API_KEY}` };
    const request = get({ port, path: '/live', headers, agent: false }, (response) => {
      let lines = 0;
      response.on('data', (chunk: Buffer) => {
        for (const byte of chunk) if (byte === 0x0a) lines += 1;
      });
      response.on('error', () => {});
      resolve({ lines: () => lines, close: () => response.destroy() });
    });
    request.on('error', reject);
  });
}
