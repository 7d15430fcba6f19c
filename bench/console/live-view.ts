import { get } from 'node:http';
import { join } from 'node:path';
import { makeBackend, makeSite } from '../edge/sites.ts';
import { isQuick, say } from '../support/flags.ts';
import { h2load } from '../support/h2load.ts';
import { comparison, interleaved } from '../support/interleaved.ts';
import { openBench } from '../support/open-bench.ts';
import { cpuNanoseconds, median } from '../support/process-cost.ts';
import { profiled, shareOf } from '../support/profile-share.ts';
import { API_KEY, type Program, startPosternServer } from '../support/start-program.ts';

const HOST = 'watched.localhost';
const REQUESTS_PER_SECOND = 1000;
const ROUND_SECONDS = 1;
const ROUNDS = isQuick ? 3 : 80;
const WARM_UP_ROUNDS = isQuick ? 1 : 10;
const SETTLE_MS = 400;
const PROFILE_SECONDS = isQuick ? 1 : 15;
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
  const { upstream } = bench;
  {
    await using opened = await openServer(join(directory, 'watched'), upstream.port, {});
    const { server } = opened;
    const lines: number[] = [];
    const alone = { round: () => cost(server, directory, ROUND_SECONDS) };
    const watched = {
      round: async () => {
        const view = await openView(server.port);
        await settled();
        const micros = await cost(server, directory, ROUND_SECONDS);
        view.close();
        lines.push(view.lines());
        await settled();
        return micros;
      },
    };
    const costs = await interleaved(alone, watched, { rounds: ROUNDS, warmUp: WARM_UP_ROUNDS });
    say(
      `${REQUESTS_PER_SECOND} requests per second without and with a live view: ${comparison([costs])}; goal at most ${GOAL}; ${median(lines)} lines per round`,
    );
  }
  const profiles = join(directory, 'profiles');
  {
    await using opened = await openServer(join(directory, 'profiled'), upstream.port, profiled(profiles));
    await cost(opened.server, directory, PROFILE_SECONDS);
    const view = await openView(opened.server.port);
    await cost(opened.server, directory, PROFILE_SECONDS);
    view.close();
  }
  const share = shareOf(profiles, '/telemetry/live/', '#offer');
  say(`the code of the live view has ${(share * 100).toFixed(2)} % of the CPU time of a profile with it`);
}

/** The opening and the end of a view are not what it costs while it is open. */
function settled(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
}

async function openServer(
  directory: string,
  upstreamPort: number,
  env: Readonly<Record<string, string>>,
): Promise<AsyncDisposable & { readonly server: Program }> {
  const server = await startPosternServer(directory, { ...SETTINGS, ...env });
  await makeSite(server.port, HOST, await makeBackend(server.port, upstreamPort));
  return { server, [Symbol.asyncDispose]: () => server.stop() };
}

/** Microseconds of the server's CPU per request. */
async function cost(server: Program, directory: string, seconds: number): Promise<number> {
  const requests = REQUESTS_PER_SECOND * seconds;
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
