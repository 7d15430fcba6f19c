import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { QUIET } from '../edge/postern.ts';
import { makeBackend, makeSite } from '../edge/sites.ts';
import { UPSTREAM } from '../edge/upstream-file.ts';
import { call } from '../support/call.ts';
import { compareCost } from '../support/compare-cost.ts';
import { say } from '../support/flags.ts';
import { hasH2load } from '../support/h2load.ts';
import { type Program, startPosternServer, startProgram } from '../support/start-program.ts';
import { helpIfRequested } from '../support/usage.ts';

const OPEN = 'open.localhost';
const CLOSED = 'programs.localhost';

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
  const headers = { authorization: `Bearer ${token}` };
  for (const protocol of ['h1', 'h2'] as const) {
    await compareCost({
      server,
      protocol,
      directory,
      variants: [
        { name: 'without rules', host: OPEN, headers: {} },
        { name: 'with a token', host: CLOSED, headers, goal: 1.15 },
      ],
    });
  }
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
