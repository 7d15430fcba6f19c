import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import { operatorEnv, runCommand } from '../cli/run-command.ts';
import { EdgeWorld } from '../support/edge-world.ts';
import { LiveView } from '../support/live-view.ts';
import { eventually } from '../tunnel/support/fault-world.ts';

const DOMAIN = 'tunnels.example.com';
const KEPT_REQUESTS = 5;
const MAX_NAMES = 20;
const REASON = 'edge:no_site_for_this_name';
const world = await EdgeWorld.open(
  { after },
  { POSTERN_REQUEST_HISTORY: String(KEPT_REQUESTS), POSTERN_DOMAIN: DOMAIN },
);
const env = operatorEnv(world.world);
const site = await world.site(await world.httpResponse('hello'));

interface Shown {
  readonly host: string | null;
  readonly method: string | null;
  readonly path: string | null;
  readonly status: number;
  readonly error_code?: string;
  readonly refused_by?: string;
  readonly client_address: string;
}

async function listed(host = ''): Promise<readonly Shown[]> {
  return (await world.api('GET', `/requests?limit=100${host === '' ? '' : `&host=${host}`}`)).requests;
}

async function overPlainHttp(host: string): Promise<string> {
  const socket = connect(world.world.server.addresses.edgeHttp?.port ?? 0, '127.0.0.1').setEncoding('latin1');
  socket.write(`GET /wiki?secret=1 HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  let answer = '';
  for await (const part of socket) answer += part;
  return answer;
}

async function handshake(host: string): Promise<void> {
  await assert.rejects(world.connect(host), { code: 'ERR_SSL_TLSV1_UNRECOGNIZED_NAME' });
}

const nextSecond = (): Promise<void> => sleep(1_100);

suite('a name that no site has', () => {
  test('is shown to administrators: of a TLS handshake, over plain HTTP, and below our domain', async () => {
    await handshake('mistyped.example.com');
    assert.match(await overPlainHttp('plain.example.com'), /^HTTP\/1\.1 404 /);
    assert.equal((await world.ask(`vacant.${DOMAIN}`, '/x')).status, 404);
    const facts = async (host: string): Promise<readonly unknown[]> =>
      (await listed(host)).map(({ method, path, status, error_code: code, refused_by: by, client_address: client }) =>
        [method, path, status, code, by, client].join(' '),
      );
    assert.deepEqual(await facts('mistyped.example.com'), [`  0  ${REASON} 127.0.0.1`]);
    assert.deepEqual(await facts('plain.example.com'), [`GET /wiki 404 ERR_POSTERN_NO_ROUTE ${REASON} 127.0.0.1`]);
    assert.deepEqual(await facts(`vacant.${DOMAIN}`), [`  404 ERR_POSTERN_NOTHING_HERE ${REASON} 127.0.0.1`]);
  });

  test('has one line in the log, also over plain HTTP', () => {
    const linesOf = (host: string): readonly unknown[] =>
      world.world.logLines.filter((line) => line.includes(host)).map((line) => JSON.parse(line).refused_by);
    for (const host of ['mistyped.example.com', 'plain.example.com', `vacant.${DOMAIN}`])
      assert.deepEqual(linesOf(host), [REASON], host);
    assert.ok(!world.world.logLines.some((line) => line.includes('secret=1')));
  });

  for (const columns of [60, 80, 120]) {
    test(`says so on a terminal of ${columns} columns`, async () => {
      const { stdout } = await runCommand(['requests', '--host', 'plain.example.com'], { env, columns });
      assert.match(stdout, /^\d\d:\d\d:\d\d {2}404 {3}GET plain.* {2}no site for this name/m);
      assert.ok(
        stripVTControlCharacters(stdout)
          .split('\n')
          .every((line) => line.length <= columns),
        stdout,
      );
    });
  }

  test('has a page of its own, by its id', async () => {
    const [request] = await listed('mistyped.example.com');
    const { id } = request as unknown as { id: string };
    const { stdout } = await runCommand(['requests', 'show', id], { env });
    assert.match(stdout, /edge +refuse +no_site_for_this_name/);
  });

  test('appears in live views', async (t) => {
    await nextSecond();
    const view = await LiveView.open(world.world, 'topics=requests');
    t.after(() => view.close());
    await handshake('live.example.com');
    await eventually('the name', () => view.with('requests').length > 0);
    assert.equal(view.with('requests')[0]?.data.host, 'live.example.com');
  });

  test('is counted as no traffic of a site', async () => {
    const count = async (): Promise<number> => {
      const { points } = await world.api('GET', '/series');
      return points.reduce((sum: number, { requests }: { requests: number }) => sum + requests, 0);
    };
    const before = await count();
    await handshake('uncounted.example.com');
    assert.equal(await count(), before);
  });
});

suite('a flood of invented names', () => {
  test('pushes no request to a site out, and keeps few of its own', async () => {
    for (let at = 0; at < KEPT_REQUESTS; at += 1) assert.equal(await world.status(site.host, `/real-${at}`), 200);
    const before = world.world.logLines.length;
    for (let round = 0; round < 5; round += 1) {
      await nextSecond();
      await Promise.all(Array.from({ length: 30 }, (_, at) => handshake(`scan-${round}-${at}.example.com`)));
      await Promise.all(Array.from({ length: 10 }, (_, at) => overPlainHttp(`plain-${round}-${at}.example.com`)));
    }
    const all = await listed();
    const real = all.filter(({ host }) => host === site.host).map(({ path }) => path);
    assert.deepEqual(real, ['/real-4', '/real-3', '/real-2', '/real-1', '/real-0']);
    assert.equal(all.length - real.length, MAX_NAMES);
    const ids = all.map((each) => (each as unknown as { id: string }).id);
    assert.deepEqual(ids, ids.toSorted().reverse(), 'newest first, whatever they are');
    const logged = world.world.logLines.slice(before).filter((line) => line.includes(REASON)).length;
    assert.ok(logged >= 20 && logged <= 40, `${logged} lines for 200 names`);
  });
});
