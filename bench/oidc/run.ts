import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CookieJar } from '../../test/support/cookie-jar.ts';
import { createIdentityProvider, type RunningIdentityProvider } from '../../tools/dev-idp/create-identity-provider.ts';
import { QUIET } from '../edge/postern.ts';
import { makeBackend, makeSite } from '../edge/sites.ts';
import { UPSTREAM } from '../edge/upstream-file.ts';
import { call } from '../support/call.ts';
import { compareCost } from '../support/compare-cost.ts';
import { isQuick, say } from '../support/flags.ts';
import { hasH2load } from '../support/h2load.ts';
import { httpRequest, load, percentile } from '../support/load.ts';
import { cpuSeconds, rssMiB } from '../support/process-cost.ts';
import { type Program, startPosternServer, startProgram } from '../support/start-program.ts';
import { helpIfRequested } from '../support/usage.ts';
import { logInOnce } from './bench-browser.ts';
import { fillWithSessions } from './many-sessions.ts';

const OPEN = 'open.localhost';
const CLOSED = 'closed.localhost';
/** With a login and access rules. */
const RULED = 'ruled.localhost';
const CLIENT_ID = 'bench';
const LOGINS = isQuick ? 50 : 400;
const SESSIONS = isQuick ? 1000 : 10_000;
const RULES = 20;

helpIfRequested({
  script: 'bench:oidc',
  about:
    'Compares a logged-in request, also with access rules, with the same route without login, and measures logins and sessions.',
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
  const cookieOf = async (host: string): Promise<readonly [string, string]> => {
    const jar = await logInOnce(provider, server.edgePort ?? 0, host, new CookieJar());
    return [host, jar.header(`https://${host}:${server.edgePort}/`) ?? ''];
  };
  const cookiesByHost = new Map([await cookieOf(CLOSED), await cookieOf(RULED)]);
  await costPerRequest(server, cookiesByHost, directory);
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
  const { routePath: ruledPath } = await makeSite(server.port, RULED, backend);
  provider.setClients([
    {
      client_id: CLIENT_ID,
      client_secret: 'bench-secret',
      redirect_uris: [CLOSED, RULED].map((host) => `https://${host}:${server.edgePort}/.postern/callback`),
    },
  ]);
  for (const path of [routePath, ruledPath]) {
    await call(server.port, 'PUT', `${path}/oidc`, {
      issuer: provider.issuer,
      client_id: CLIENT_ID,
      client_secret: 'bench-secret',
      scopes: ['email', 'profile'],
    });
  }
  await call(server.port, 'PUT', `${ruledPath}/access`, { allow: rules(), deny: [{ emails: ['former@example.com'] }] });
  const [, , , edgeId = '', , routeId = ''] = routePath.split('/');
  return { edgeId, routeId, host: CLOSED, issuer: provider.issuer, clientId: CLIENT_ID };
}

/** Together with the deny rule; the last one lets the user in. */
function rules(): readonly object[] {
  const others = Array.from({ length: RULES - 2 }, (_, at) => ({ claims: { groups: [`group-${at}`] } }));
  return [...others, { email_domains: ['example.com'] }];
}

/** The same upstream without a login, with one, and with access rules. */
async function costPerRequest(server: Program, cookies: ReadonlyMap<string, string>, directory: string): Promise<void> {
  const cookieOf = (host: string) => ({ cookie: cookies.get(host) ?? '' });
  for (const protocol of ['h1', 'h2'] as const) {
    await compareCost({
      server,
      protocol,
      directory,
      variants: [
        { name: 'without login', host: OPEN, headers: {} },
        { name: 'logged in', host: CLOSED, headers: cookieOf(CLOSED), goal: 1.15 },
        { name: `logged in with ${RULES} access rules`, host: RULED, headers: cookieOf(RULED), goal: 1.2 },
      ],
    });
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
