import { join } from 'node:path';
import { call } from '../support/call.ts';
import { isQuick, say } from '../support/flags.ts';
import { h2load } from '../support/h2load.ts';
import { httpRequest, load, percentile } from '../support/load.ts';
import { median } from '../support/process-cost.ts';
import { API_KEY, startPosternServer } from '../support/start-program.ts';
import { QUIET } from './postern.ts';
import { makeSite } from './sites.ts';

const HOST = 'busy.localhost';
const ROUNDS = isQuick ? 2 : 8;
/** Time, and not a number of calls: on a busy machine, 36,000 calls took longer than anybody waited. */
const ROUND_MS = isQuick ? 500 : 2_000;
const GOAL = 3;
const HEADERS = { authorization: `Bearer ${API_KEY}`, 'service-version': '2' };

/** Latency of the API while visitors use all that the edge has, compared with a quiet edge, in turns. */
export async function busy(directory: string): Promise<void> {
  say(`GET of a route, p99 in ms, medians of ${ROUNDS} rounds (goal with workers: at most ${GOAL} × of quiet)`);
  say('workers   quiet   busy   ratio');
  for (const workers of ['1', '2']) {
    const server = await startPosternServer(join(directory, workers), { ...QUIET, POSTERN_WORKERS: workers });
    try {
      const backend = await call(server.port, 'POST', '/backends/http_response', { status_code: 200, body: 'here' });
      const { routePath: path } = await makeSite(server.port, HOST, String(backend['id']));
      const calls = async (): Promise<number> => {
        const { latencies } = await load({
          ...{ port: server.port, connections: 1, status: 200, until: { ms: ROUND_MS } },
          request: () => httpRequest('GET', path, HEADERS),
        });
        return percentile(latencies, 0.99);
      };
      const taken: Record<'quiet' | 'busy', number[]> = { quiet: [], busy: [] };
      for (let round = 0; round <= ROUNDS; round += 1) {
        const quiet = await calls();
        const visitors = new AbortController();
        const flood = floodUntil(visitors.signal, server.edgePort ?? 0, directory);
        const beside = await calls();
        visitors.abort();
        await flood;
        // The first round warms up.
        if (round === 0) continue;
        taken.quiet.push(quiet);
        taken.busy.push(beside);
      }
      const [quiet, beside] = [median(taken.quiet), median(taken.busy)];
      const figures = [quiet, beside].map((ms) => ms.toFixed(1).padStart(7));
      const ratios = taken.quiet.map((ms, at) => (taken.busy[at] ?? 0) / ms).sort((one, other) => one - other);
      const [least, most] = [ratios[0] ?? 0, ratios.at(-1) ?? 0];
      say(
        `${workers.padEnd(7)} ${figures.join('')} ${median(ratios).toFixed(1).padStart(6)} × (${least.toFixed(1)} to ${most.toFixed(1)})`,
      );
    } finally {
      await server.stop();
    }
  }
}

/** Short bursts without a pause: a run of h2load cannot be ended early. */
async function floodUntil(signal: AbortSignal, port: number, directory: string): Promise<void> {
  while (!signal.aborted) {
    await h2load({
      ...{ protocol: 'h1', host: HOST, port, path: '/', requests: 2_000, connections: 32, streams: 1 },
      ...{ headers: {}, directory },
    });
  }
}
