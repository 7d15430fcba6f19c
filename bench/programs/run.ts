import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { QUIET } from '../edge/postern.ts';
import { makeBackend, makeSite } from '../edge/sites.ts';
import { UPSTREAM } from '../edge/upstream-file.ts';
import { call } from '../support/call.ts';
import { isQuick, say } from '../support/flags.ts';
import { h2load, hasH2load } from '../support/h2load.ts';
import { cpuSeconds, median } from '../support/process-cost.ts';
import { type Program, startPosternServer, startProgram } from '../support/start-program.ts';
import { helpIfRequested } from '../support/usage.ts';

const OPEN = 'open.localhost';
const CLOSED = 'programs.localhost';
/** Not counted: the runtime keeps compiling for some ten thousand requests. */
const WARM_UP_ROUNDS = isQuick ? 1 : 2;
const ROUNDS = isQuick ? 2 : 9;
const REQUESTS = isQuick ? 2000 : 30_000;
const GOAL = 1.15;

helpIfRequested({
  script: 'bench:programs',
  about: 'Compares a request with the token of a service account with the same route without access rules.',
});
if (!(await hasH2load())) say('h2load is not installed (Debian: nghttp2-client): nothing was measured');
else await bench();

async function bench(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'postern-bench-programs-'));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(directory, { recursive: true, force: true }));
  const upstream = await startProgram([UPSTREAM], {});
  stack.defer(() => upstream.stop());
  const server = await startPosternServer(join(directory, 'data'), QUIET);
  stack.defer(() => server.stop());
  const token = await makeSites(server, upstream.port);
  for (const protocol of ['h1', 'h2'] as const) await compare(server, protocol, token, directory);
}

/** Returns the token that opens the second site. */
async function makeSites(server: Program, upstreamPort: number): Promise<string> {
  const backend = await makeBackend(server.port, upstreamPort);
  await makeSite(server.port, OPEN, backend);
  const { routePath } = await makeSite(server.port, CLOSED, backend);
  const { id } = await call(server.port, 'POST', '/service_accounts', { name: 'bench' });
  const made = await call(server.port, 'POST', '/service_account_tokens', { service_account_id: id });
  await call(server.port, 'PUT', `${routePath}/access`, { allow: [{ service_accounts: [id] }] });
  return String(made['token']);
}

/** The same upstream with and without rules, in turns. */
async function compare(server: Program, protocol: 'h1' | 'h2', token: string, directory: string): Promise<void> {
  const micros: Record<string, number[]> = { [OPEN]: [], [CLOSED]: [] };
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round += 1) {
    for (const host of round % 2 ? [OPEN, CLOSED] : [CLOSED, OPEN]) {
      const before = cpuSeconds(server.pid);
      await h2load({
        protocol,
        host,
        port: server.edgePort ?? 0,
        path: '/',
        requests: REQUESTS,
        connections: 16,
        streams: 10,
        headers: host === CLOSED ? { authorization: `Bearer ${token}` } : {},
        directory,
      });
      if (round >= WARM_UP_ROUNDS) micros[host]?.push(((cpuSeconds(server.pid) - before) / REQUESTS) * 1e6);
    }
  }
  const [open, closed] = [median(micros[OPEN] ?? []), median(micros[CLOSED] ?? [])];
  const ratios = (micros[CLOSED] ?? []).map((one, at) => one / (micros[OPEN]?.[at] ?? one)).sort((a, b) => a - b);
  say(
    `${protocol}: ${open.toFixed(1)} µs of CPU per request without rules, ${closed.toFixed(1)} with a token: ${(closed / open).toFixed(2)} × (goal at most ${GOAL}; rounds ${ratios[0]?.toFixed(2)} to ${ratios.at(-1)?.toFixed(2)})`,
  );
}
