import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { say, words } from '../support/flags.ts';
import { helpIfRequested } from '../support/usage.ts';
import { burst } from './burst.ts';
import { busy } from './busy.ts';
import { compare } from './comparison.ts';
import { history } from './history.ts';
import { idle } from './idle.ts';
import { manyEdges } from './many-edges.ts';
import { recording } from './recording.ts';
import { renewals } from './renewals.ts';
import { storms } from './storms.ts';
import { traces } from './traces.ts';
import { uploads } from './uploads.ts';
import { workers } from './workers.ts';

/** README.md describes what each of these measures; all of them run when none is named. */
const benches: Readonly<Record<string, (directory: string) => Promise<void>>> = {
  compare,
  storms,
  edges: manyEdges,
  idle,
  renewals,
  history,
  recording,
  traces,
  uploads,
  burst,
  workers,
  busy,
};

helpIfRequested({
  script: 'bench:edge',
  about: 'Compares the HTTPS edge with Caddy, nginx and HAProxy. bench/edge/README.md has the details.',
  benches: {
    compare: 'CPU per request, requests per second and latency next to the other proxies',
    storms: 'WebSockets and a steady load while other hosts get 50 changes per second',
    edges: 'start, memory, a request and a change with 10,000 edges, compared with 10',
    history: 'CPU per request with the request history, compared with none',
    recording: 'CPU and allocations of the request history and of traces alone',
    traces: 'CPU per request with OpenTelemetry traces, compared with none',
    uploads: 'seconds of uploads over HTTP/2 from 0, 50 and 150 ms away, next to HTTP/1.1',
    workers: 'CPU per request of all threads with 2 and 4 workers, compared with 1',
    busy: 'latency of the API while the edge has more to do than it can, with 1 and 2 workers',
    burst: 'memory before, at the end of and after a burst of connections',
    idle: 'memory per idle TLS connection, next to the other proxies',
  },
  flags: {
    '--rows=h1,h2': 'compare: only these kinds of requests',
    '--only=postern,caddy': 'compare, idle: only these programs',
    '--rounds=9': 'compare: number of rounds',
    '--before=DIR': 'compare: also measure another checkout of Postern',
  },
});
const unknown = words.find((word) => benches[word] === undefined);
if (unknown === undefined) await run(words.length === 0 ? Object.keys(benches) : words);
else {
  say(`unknown benchmark "${unknown}": use ${Object.keys(benches).join(', ')}`);
  process.exitCode = 2;
}

async function run(names: readonly string[]): Promise<void> {
  for (const name of names) {
    const directory = await mkdtemp(join(tmpdir(), 'postern-bench-edge-'));
    try {
      say(`── ${name}`);
      await benches[name]?.(directory);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  }
}
