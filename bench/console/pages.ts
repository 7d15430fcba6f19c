import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { chromium } from 'playwright-core';
import { ConsoleVisitor } from '../../test/console/console-visitor.ts';
import { CHROMIUM_FLAGS, chromiumPath } from '../../test/support/chromium.ts';
import { call } from '../support/call.ts';
import { isQuick, say } from '../support/flags.ts';
import { API_KEY, type Program } from '../support/start-program.ts';
import { startAgents, startTunnelServer } from '../tunnel/tunnel-server.ts';
import { PROBE_SOCKET, type Turns } from './turn-probe.ts';

const SITES = isQuick ? 500 : 10_000;
const PEOPLE = isQuick ? 50 : 1_000;
const AGENTS = isQuick ? 5 : 100;
/** As many as the history has room for. */
const REQUESTS = isQuick ? 500 : 10_000;
const VISITED = 10;
const STREAMS = 50;
const OPERATIONS = 2_000;
const WRITERS = 16;
const SETTLE_MS = 500;
/** What a live view takes in that time. */
const QUIET_MS = 15;
const LONGEST_MS = 100;
const TOTAL_MS = 1_000;
const PAGES = [
  ...['/', '/sites', '/sites?q=site-77', '/sites?order=-requests', '/edges', '/backends?tab=static', '/traffic'],
  ...['/traffic?q=site-7', '/explain', '/tunnels', '/certificates', '/people', '/people?q=person-77', '/access'],
  ...['/keys', '/changes', '/changes?q=site-77', '/events', '/settings', '/sessions', '/search?q=site-7', '/publish'],
  ...['/resources/endpoints'],
];

/** What each page takes the server, with as much in it as a large installation has. */
export async function pages(directory: string): Promise<void> {
  const executablePath = chromiumPath();
  if (executablePath === null) return say('chromium is not on the PATH: pages are not measured');
  await using stack = new AsyncDisposableStack();
  const browser = await chromium.launch({ executablePath, args: CHROMIUM_FLAGS });
  stack.defer(() => browser.close());
  const socket = join(directory, 'turns');
  const { program, edgePort, ...tunnels } = await startTunnelServer(join(directory, 'pages'), undefined, {
    POSTERN_ROLES: 'api,edge,gateway,events',
    POSTERN_IDENTITY_HOST: 'id.localhost',
    POSTERN_LOG_LEVEL: 'warn',
    NODE_OPTIONS: `--import=${new URL('./turn-probe.ts', import.meta.url).href}`,
    [PROBE_SOCKET]: socket,
  });
  stack.defer(() => program.stop());
  const site = await fill(program);
  await visit(edgePort);
  const agents = await startAgents(
    { program, edgePort, ...tunnels },
    Array.from({ length: AGENTS }, (_, at) => [{ labels: { agent: `${at}` }, addr: 9 }]),
  );
  stack.defer(() => agents.stop());
  const visitor = await ConsoleVisitor.open(browser, `http://127.0.0.1:${program.port}`);
  await visitor.logIn(API_KEY);
  const filled = [SITES, PEOPLE, AGENTS, REQUESTS].map((count) => count.toLocaleString('en-US'));
  say(`${filled[0]} sites, ${filled[1]} people, ${filled[2]} agents, ${filled[3]} requests; main thread of the server`);
  const measured: (Turns & { readonly below: string })[] = [];
  for (const below of [...PAGES, `/sites/${site}`]) {
    await visitor.go('/explain');
    await untilQuiet(socket);
    await visitor.go(below);
    measured.push({ below, ...(await untilQuiet(socket)) });
  }
  for (const { below, longestMs, totalMs } of measured)
    say(
      `${below.replace(site, 'ID').padEnd(24)} longest turn ${longestMs.toFixed(0)} ms, all ${totalMs.toFixed(0)} ms`,
    );
  const most = (name: keyof Turns): string => Math.max(...measured.map((each) => each[name])).toFixed(0);
  say(
    `at most ${most('longestMs')} ms in one turn (goal ${LONGEST_MS}), ${most('totalMs')} ms in all (goal ${TOTAL_MS})`,
  );
}

/** Returns the id of the newest site. */
async function fill({ port }: Program): Promise<string> {
  const backend = await call(port, 'POST', '/backends/http_response', { status_code: 200, body: 'hello' });
  const route = { match_type: 'path_prefix', match: '/', backend: { backend_id: backend['id'] } };
  for (let from = 0; from < SITES; from += OPERATIONS / 2) {
    const operations = Array.from({ length: Math.min(OPERATIONS / 2, SITES - from) }, (_, at) => [
      { method: 'POST', path: '/edges/https', body: { hostports: [`site-${from + at}.localhost:443`] } },
      { method: 'POST', path: `/edges/https/$\{${2 * at}.id}/routes`, body: route },
    ]).flat();
    await call(port, 'POST', '/changesets', { operations });
  }
  let person = 0;
  const write = async (): Promise<void> => {
    while (person < PEOPLE) {
      person += 1;
      await call(port, 'POST', '/user_accounts', { email: `person-${person}@example.com`, name: `Person ${person}` });
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
  const { https_edges: newest } = await call(port, 'GET', '/edges/https?limit=1');
  return (newest as readonly { readonly id: string }[])[0]?.id ?? '';
}

/** Fills the history with requests of some sites. */
async function visit(edgePort: number): Promise<void> {
  for (let at = 0; at < VISITED; at += 1) {
    const host = `site-${SITES - 1 - at}.localhost`;
    const session = connectHttp2(`https://127.0.0.1:${edgePort}`, { servername: host, rejectUnauthorized: false });
    for (let sent = 0; sent < REQUESTS / VISITED; sent += STREAMS) {
      const streams = Array.from({ length: STREAMS }, (_, n) =>
        session.request({ ':authority': host, ':path': `/page/${sent + n}` }),
      );
      await Promise.all(streams.map((stream) => text(stream)));
    }
    session.destroy();
  }
}

/** Until the server has done everything that the page asked for. */
async function untilQuiet(socket: string): Promise<Turns> {
  let [longestMs, totalMs] = [0, 0];
  for (let isQuiet = false; !isQuiet; ) {
    await sleep(SETTLE_MS);
    const turns = await turnsSince(socket);
    longestMs = Math.max(longestMs, turns.longestMs);
    totalMs += turns.totalMs;
    isQuiet = turns.totalMs < QUIET_MS;
  }
  return { longestMs, totalMs };
}

async function turnsSince(socket: string): Promise<Turns> {
  return JSON.parse(await text(connect(socket))) as Turns;
}
