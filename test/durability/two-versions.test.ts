import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { querySql } from '../store/engines.ts';
import { nextVersion, PREVIOUS_LAUNCHER } from '../support/next-version.ts';
import { freshDatabase, startPostgres } from '../support/postgres.ts';
import { type PosternProcess, startServerProcess } from '../support/server-process.ts';
import { tempDir } from '../support/temp-dir.ts';

const API_KEY = 'two-versions-test-api-key-0123456789';
const HOST = 'both.localhost';
const DEADLINE_MS = 60_000;

interface Node {
  readonly process: PosternProcess;
  readonly api: string;
  readonly edge: string;
}

const home = await tempDir({ after });
const next = await nextVersion('additive');
const postgres = await startPostgres();
after(() => postgres.stop());
const database = await freshDatabase(postgres);
const env = {
  POSTERN_DATABASE_URL: database.url,
  POSTERN_SECRET_KEY: randomBytes(32).toString('base64'),
  POSTERN_API_KEY: API_KEY,
  POSTERN_API_RATE_LIMIT: '0',
};

async function start(name: string, launcher: string): Promise<Node> {
  const process = startServerProcess({ after }, join(home, name), { env, launcher });
  const { base_url: api, addresses } = await process.ready();
  return { process, api, edge: (addresses as unknown as { readonly edge: string }).edge };
}

/** The old one is there first, as in an upgrade. */
const old = await start('old', PREVIOUS_LAUNCHER);
const created = await call(old, 'POST', '/ip_policies', { description: 'by the old one' });
const now = await start('new', next.launcher);
after(() => database.drop());

/** A rolling upgrade: the servers of this version and of a made-up next one work on one database. */
suite('beside a server of the version before', () => {
  test('the old server goes on after the new one has migrated the database', async () => {
    const location = { engine: 'postgres', dataDir: home, url: database.url } as const;
    const rows = await querySql(location, "SELECT value FROM meta WHERE name = 'schema_version'");
    assert.deepEqual(rows, [{ value: String(next.schema.version) }]);
    const { status, body } = await call(old, 'GET', '/healthz');
    assert.deepEqual([status, body.status], [200, 'ready']);
    assert.equal((await call(old, 'POST', '/ip_policies', {})).status, 201);
  });

  test('configuration of either is served by both', async () => {
    assert.equal((await call(now, 'GET', `/ip_policies/${created.body.id}`)).status, 200, 'from before its start');
    for (const [writer, reader] of [
      [old, now],
      [now, old],
    ] as const) {
      const { body } = await call(writer, 'POST', '/ip_policies', {});
      await until(async () => (await call(reader, 'GET', `/ip_policies/${body.id}`)).status === 200);
    }
  });

  test('an Idempotency-Key counts at both', async () => {
    const headers = { 'idempotency-key': 'one-key' };
    const first = await call(old, 'POST', '/ip_policies', {}, headers);
    const second = await call(now, 'POST', '/ip_policies', {}, headers);
    assert.equal(first.status, 201);
    assert.equal(second.body.id, first.body.id);
  });

  test('a login of either holds and ends at both', async () => {
    const { body: edge } = await call(now, 'POST', '/edges/https', { hostports: [`${HOST}:443`] });
    const routes = `/edges/https/${edge.id}/routes`;
    const { body: route } = await call(now, 'POST', routes, { match_type: 'path_prefix', match: '/' });
    const { body: backend } = await call(now, 'POST', '/backends/http_response', { body: 'inside' });
    await call(now, 'PUT', `${routes}/${route.id}/backend`, { backend_id: backend.id });
    await call(now, 'PUT', `${routes}/${route.id}/access`, { allow: [{ guests: true }] });
    for (const [admits, ends] of [
      [old, now],
      [now, old],
    ] as const) {
      const { body: link } = await call(ends, 'POST', '/guest_links', {
        edge_id: edge.id,
        route_id: route.id,
        expires_at: new Date(Date.now() + 86_400_000).toISOString(),
      });
      await until(async () => (await call(admits, 'GET', `/guest_links/${link.id}`)).status === 200);
      const cookie = await redeem(admits, String(link.url));
      for (const node of [admits, ends]) await until(async () => (await open(node, cookie)).status === 200);
      const [session] = (await call(ends, 'GET', '/app/sessions')).body.application_sessions as { id: string }[];
      assert.equal((await call(ends, 'DELETE', `/app/sessions/${session?.id}`)).status, 204);
      for (const node of [ends, admits]) await until(async () => (await open(node, cookie)).status !== 200);
    }
  });

  test('events of both are delivered once', async () => {
    const { body: destination } = await call(old, 'POST', '/event_destinations', {
      target: { file: { name: 'both' } },
    });
    await call(now, 'POST', '/event_subscriptions', {
      sources: [{ type: 'ip_policy_created.v0' }],
      destination_ids: [destination.id],
    });
    const made = await Promise.all([0, 1, 2, 3].map((at) => call(at % 2 ? old : now, 'POST', '/ip_policies', {})));
    let deliveries: { state: string }[] = [];
    await until(async () => {
      deliveries = (await call(now, 'GET', '/event_deliveries')).body.event_deliveries as { state: string }[];
      return deliveries.length === made.length && deliveries.every(({ state }) => state === 'delivered');
    });
    const lines = ['old', 'new'].flatMap((name) => eventsOf(join(home, name)));
    assert.deepEqual(lines.sort(), made.map(({ body }) => String(body.id)).sort());
  });

  test('the old server drains and stops, and the new one goes on', async () => {
    old.process.child.kill('SIGTERM');
    assert.deepEqual(await old.process.exited, { code: 0, signal: null });
    assert.equal((await call(now, 'POST', '/ip_policies', {})).status, 201);
  });
});

function eventsOf(dataDir: string): string[] {
  try {
    const lines = readFileSync(join(dataDir, 'events', 'both'), 'utf8')
      .trimEnd()
      .split('\n');
    return lines.map((line) => (JSON.parse(line) as { object: { id: string } }).object.id);
  } catch {
    return [];
  }
}

async function call(
  { api }: Pick<Node, 'api'>,
  method: string,
  path: string,
  sent?: object,
  headers: Readonly<Record<string, string>> = {},
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers field by field
): Promise<{ readonly status: number; readonly body: any }> {
  const response = await fetch(`${api}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${API_KEY}`,
      'service-version': '2',
      ...(sent !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(sent !== undefined && { body: JSON.stringify(sent) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? null : JSON.parse(text) };
}

async function open({ edge }: Node, cookie: string): Promise<{ readonly status: number }> {
  const { statusCode = 0 } = await ask(edge, { path: '/', headers: { cookie } });
  return { status: statusCode };
}

/** As the button of the link's page does it. */
async function redeem({ edge }: Node, url: string): Promise<string> {
  const secret = new URL(url).searchParams.get('link') ?? '';
  const response = await ask(
    edge,
    {
      method: 'POST',
      path: '/.postern/guest',
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: 'null', 'sec-fetch-site': 'same-origin' },
    },
    `link=${encodeURIComponent(secret)}`,
  );
  assert.equal(response.statusCode, 303);
  return (response.headers['set-cookie'] ?? []).map((line) => line.slice(0, line.indexOf(';'))).join('; ');
}

async function ask(
  edge: string,
  options: { readonly path: string; readonly method?: string; readonly headers: Readonly<Record<string, string>> },
  body = '',
): Promise<IncomingMessage> {
  const [host, port] = edge.split(':');
  const headers = { host: HOST, accept: 'text/html', ...options.headers };
  const sent = request({ ...options, host, port, servername: HOST, rejectUnauthorized: false, agent: false, headers });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  return response;
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  while (!(await isTrue())) {
    assert.ok(Date.now() < deadline, 'it did not happen');
    await sleep(50);
  }
}
