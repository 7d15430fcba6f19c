import { join } from 'node:path';
import { makeBackend, makeSite } from '../edge/sites.ts';
import { call } from '../support/call.ts';
import { isQuick } from '../support/flags.ts';
import { h2load } from '../support/h2load.ts';
import { type Compared, interleaved, type Measured } from '../support/interleaved.ts';
import { cpuNanoseconds } from '../support/process-cost.ts';
import { startTunnelServer } from '../tunnel/tunnel-server.ts';
import type { Row } from './row.ts';

const PROCESSES = isQuick ? 1 : 3;
const ROUNDS = isQuick ? 3 : 20;
const WARM_UP_ROUNDS = isQuick ? 1 : 10;
const REQUESTS = isQuick ? 500 : 2_000;
const CONNECTIONS = 4;
const PROTOCOLS = { h1: 'HTTP/1.1', h2: 'HTTP/2' } as const;

/** As a site would have them. */
const MODULES: Readonly<Record<string, object>> = {
  // Nobody is refused: the load is faster than any limit that somebody would set.
  rate_limit: {
    limits: [
      { limit: 1_000_000, window_seconds: 60 },
      { limit: 1_000_000, window_seconds: 1, key: 'route' },
    ],
  },
  request_headers: { add: { 'x-site': 'bench' }, remove: ['x-debug'] },
};

/** CPU per request of one server: to a site without the module, and to one with it. */
export async function* moduleRows(
  { checkout, directory, upstreamPort }: { checkout: string; directory: string; upstreamPort: number },
  wants: (name: string) => boolean,
): AsyncGenerator<Row> {
  const rows = Object.keys(MODULES).flatMap((module) =>
    (['h1', 'h2'] as const).map((protocol) => {
      return { module, protocol, name: `${PROTOCOLS[protocol]} with ${module}`, pairs: [] as Compared[] };
    }),
  );
  const wanted = rows.filter(({ name }) => wants(name));
  for (let at = 0; at < PROCESSES && wanted.length > 0; at += 1) {
    await using stack = new AsyncDisposableStack();
    const server = await startTunnelServer(join(directory, `modules-${at}`), checkout);
    stack.defer(() => server.program.stop());
    const { port, pid } = server.program;
    const backend = await makeBackend(port, upstreamPort);
    await makeSite(port, 'without.localhost', backend);
    for (const [module, body] of Object.entries(MODULES)) {
      const { routePath } = await makeSite(port, hostWith(module), backend);
      await call(port, 'PUT', `${routePath}/${module}`, body);
    }
    for (const { module, protocol, pairs } of wanted) {
      const visits = (host: string): Measured => ({
        round: async () => {
          const before = cpuNanoseconds(pid);
          await h2load({
            ...{ protocol, host, port: server.edgePort, path: '/', requests: REQUESTS },
            ...{ connections: CONNECTIONS, streams: 10, headers: {}, directory },
          });
          return (cpuNanoseconds(pid) - before) / REQUESTS / 1_000;
        },
      });
      const rounds = { rounds: ROUNDS, warmUp: WARM_UP_ROUNDS };
      pairs.push(await interleaved(visits('without.localhost'), visits(hostWith(module)), rounds));
    }
  }
  for (const { name, pairs } of wanted) yield { name, unit: 'µs', pairs };
}

function hostWith(module: string): string {
  return `${module.replaceAll('_', '-')}.localhost`;
}
