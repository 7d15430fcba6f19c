import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CookieJar } from '../../test/support/cookie-jar.ts';
import { createIdentityProvider, type RunningIdentityProvider } from '../../tools/dev-idp/create-identity-provider.ts';
import { QUIET } from '../edge/postern.ts';
import { makeBackend, makeSite } from '../edge/sites.ts';
import { UPSTREAM } from '../edge/upstream-file.ts';
import { call } from '../support/call.ts';
import { isQuick, say } from '../support/flags.ts';
import { h2load, hasH2load } from '../support/h2load.ts';
import { httpRequest, load, percentile } from '../support/load.ts';
import { cpuSeconds, median, rssMiB } from '../support/process-cost.ts';
import { type Program, startPosternServer, startProgram } from '../support/start-program.ts';
import { helpIfRequested } from '../support/usage.ts';
import { logInOnce } from './bench-browser.ts';
import { fillWithSessions } from './many-sessions.ts';

const OPEN = 'open.localhost';
const CLOSED = 'closed.localhost';
const CLIENT_ID = 'bench';
/**
 * Not counted: the runtime keeps compiling for some ten thousand requests, and the shorter path finishes that sooner.
 */
const WARM_UP_ROUNDS = isQuick ? 1 : 2;
const ROUNDS = isQuick ? 2 : 9;
const REQUESTS = isQuick ? 2000 : 30_000;
const LOGINS = isQuick ? 50 : 400;
const SESSIONS = isQuick ? 1000 : 10_000;
const GOAL = 1.15;

helpIfRequested({
  script: 'bench:oidc',
  about: 'Compares a logged-in request with the same route without login, and measures logins and sessions.',
});
if (!(await hasH2load())) say('h2load is not installed (Debian: nghttp2-client): nothing was measured');
else await bench();

async function bench(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'postern-bench-oidc-'));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(directory, { recursive: true, force: true }));
  const provider = await createIdentityProvider();
  stack.defer(() => provider.stop());
  const upstream = await startProgram([UPSTREAM], {});
  stack.defer(() => upstream.stop());
  const dataDir = join(directory, 'data');
  let server = await startPosternServer(dataDir, QUIET);
  stack.defer(() => server.stop());
  const place = await makeSites(server, provider, upstream.port);
  const jar = await logInOnce(provider, server.edgePort ?? 0, CLOSED, new CookieJar());
  await costPerRequest(server, jar.header(`https://${CLOSED}:${server.edgePort}/`) ?? '', directory);
  await costPerLogin(server, provider);
  await server.stop();
  const cookies = await fillWithSessions(dataDir, place, SESSIONS);
  server = await startPosternServer(dataDir, QUIET);
  await costOfSessions(server, cookies);
}

async function makeSites(server: Program, provider: RunningIdentityProvider, upstreamPort: number) {
  const backend = await makeBackend(server.port, upstreamPort);
  await makeSite(server.port, OPEN, backend);
  const { routePath } = await makeSite(server.port, CLOSED, backend);
  const origin = `https://${CLOSED}:${server.edgePort}`;
  provider.setClients([
    { client_id: CLIENT_ID, client_secret: 'bench-secret', redirect_uris: [`${origin}/.postern/callback`] },
  ]);
  await call(server.port, 'PUT', `${routePath}/oidc`, {
    issuer: provider.issuer,
    client_id: CLIENT_ID,
    client_secret: 'bench-secret',
    scopes: ['email', 'profile'],
  });
  const [, , , edgeId = '', , routeId = ''] = routePath.split('/');
  return { edgeId, routeId, host: CLOSED, issuer: provider.issuer, clientId: CLIENT_ID };
}

/** The same upstream with and without login, in turns. */
async function costPerRequest(server: Program, cookie: string, directory: string): Promise<void> {
  for (const protocol of ['h1', 'h2'] as const) {
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
          headers: host === CLOSED ? { cookie } : {},
          directory,
        });
        if (round >= WARM_UP_ROUNDS) micros[host]?.push(((cpuSeconds(server.pid) - before) / REQUESTS) * 1e6);
      }
    }
    const [open, closed] = [median(micros[OPEN] ?? []), median(micros[CLOSED] ?? [])];
    const ratios = (micros[CLOSED] ?? []).map((one, at) => one / (micros[OPEN]?.[at] ?? one)).sort((a, b) => a - b);
    say(
      `${protocol}: ${open.toFixed(1)} µs of CPU per request without login, ${closed.toFixed(1)} logged in: ${(closed / open).toFixed(2)} × (goal at most ${GOAL}; rounds ${ratios[0]?.toFixed(2)} to ${ratios.at(-1)?.toFixed(2)})`,
    );
  }
}

async function costPerLogin(server: Program, provider: RunningIdentityProvider): Promise<void> {
  const atProvider = new CookieJar();
  await logInOnce(provider, server.edgePort ?? 0, CLOSED, atProvider);
  const before = cpuSeconds(server.pid);
  const started = performance.now();
  let left = LOGINS;
  const logIns = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await logInOnce(provider, server.edgePort ?? 0, CLOSED, atProvider.copy());
    }
  };
  await Promise.all(Array.from({ length: 8 }, logIns));
  const seconds = (performance.now() - started) / 1000;
  const cpuMs = ((cpuSeconds(server.pid) - before) / LOGINS) * 1000;
  say(
    `${LOGINS} logins, 8 at a time: ${(LOGINS / seconds).toFixed(0)} a second with the provider and its users in this process; ${cpuMs.toFixed(2)} ms of CPU each at Postern`,
  );
}

/** Each session's first request after a start reads the store; later ones do not. */
async function costOfSessions(server: Program, cookies: readonly string[]): Promise<void> {
  const tls = { servername: CLOSED, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] };
  const round = async () => {
    const before = cpuSeconds(server.pid);
    const { latencies } = await load({
      port: server.edgePort ?? 0,
      connections: 8,
      tls,
      status: 200,
      until: { count: cookies.length },
      request: (index) => httpRequest('GET', '/', { host: CLOSED, cookie: cookies[index] ?? '' }),
    });
    return { micros: ((cpuSeconds(server.pid) - before) / cookies.length) * 1e6, latencies };
  };
  const warm = httpRequest('GET', '/', { host: CLOSED, cookie: cookies[0] ?? '' });
  await load({
    port: server.edgePort ?? 0,
    connections: 8,
    tls,
    status: 200,
    until: { count: 5000 },
    request: () => warm,
  });
  const rssBefore = rssMiB(server.pid);
  const first = await round();
  const rssAfter = rssMiB(server.pid);
  const later = await round();
  const line = ({ micros, latencies }: typeof first): string =>
    `${micros.toFixed(0)} µs of CPU, p50 ${percentile(latencies, 0.5).toFixed(2)} ms, p99 ${percentile(latencies, 0.99).toFixed(2)} ms`;
  say(`${cookies.length} sessions after a restart: first request ${line(first)}; second ${line(later)}`);
  say(`RSS: ${rssBefore.toFixed(0)} MiB before, ${rssAfter.toFixed(0)} MiB with all of them in memory`);
}
