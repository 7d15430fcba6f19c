import assert from 'node:assert/strict';
import type { Agent } from 'node:https';
import { after, suite, test } from 'node:test';
import type { EdgeWorkers } from '../../src/app/main/workers/edge-workers.ts';
import { recordingUpstream } from '../edge/traffic/recording-upstream.ts';
import { echoingWebSockets, openWebSocketOverHttp2 } from '../edge/traffic/web-socket.ts';
import { until } from '../support/cluster.ts';
import { EdgeWorld, type Site } from '../support/edge-world.ts';

const WORKERS = 2;
const BREAKER = { error_threshold_percentage: 0.5, volume_threshold: 8, tripped_duration: 600 };

const world = await EdgeWorld.open({ after }, { POSTERN_WORKERS: String(WORKERS), POSTERN_ALERT_CIRCUIT_OPEN: '1' });
const workers = world.world.server.workers as EdgeWorkers;
const upstream = await recordingUpstream({ after });

interface Problem {
  readonly message: string;
}

/** One connection to each worker: each goes to the one with the fewest. */
async function visitors({ host }: Site): Promise<readonly Agent[]> {
  const agents = Array.from({ length: WORKERS }, () => world.agent());
  for (const agent of agents) await world.ask(host, '/', { agent });
  assert.deepEqual(new Set(workers.connectionCounts).size, 1, workers.connectionCounts.join());
  return agents;
}

function disconnect(agents: readonly Agent[]): void {
  for (const agent of agents) agent.destroy();
}

async function site(): Promise<Site> {
  return world.site(await world.staticBackend(upstream.address));
}

async function changes(to: string): Promise<number> {
  const [, count = '0'] =
    new RegExp(`circuit_breaker_changes_total{to="${to}"} (\\d+)`).exec(await world.metrics()) ?? [];
  return Number(count);
}

async function eventTypes(): Promise<readonly string[]> {
  const events = await world.world.server.store.events.list({ beforeId: null, limit: 100 });
  return events.map(({ type }) => type).filter((type) => type.startsWith('circuit_'));
}

suite('modules in several workers', () => {
  test('headers and user agents are handled alike, and a change reaches every worker before it is answered', async (t) => {
    upstream.answer = (request, response) => response.end(String(request.headers['x-from'] ?? 'none'));
    const made = await site();
    const agents = await visitors(made);
    t.after(() => disconnect(agents));
    const seen = async (userAgent = 'tests'): Promise<string> => {
      const all = new Set<string>();
      for (const agent of agents) {
        const { status, text, headers } = await world.ask(made.host, '/', {
          agent,
          headers: { 'user-agent': userAgent, 'x-from': 'client' },
        });
        all.add(`${status} ${status === 200 ? text : ''} ${String(headers['x-marked'] ?? '')}`);
      }
      return [...all].join('|');
    };
    assert.equal(await seen(), '200 client ');
    for (const mark of ['one', 'two']) {
      await world.api('PUT', `${made.routePath}/request_headers`, { add: { 'x-from': mark }, remove: ['x-from'] });
      await world.api('PUT', `${made.routePath}/response_headers`, { add: { 'x-marked': mark } });
      assert.equal(await seen(), `200 ${mark} ${mark}`);
    }
    await world.api('PUT', `${made.routePath}/user_agent_filter`, { deny: ['bot'] });
    assert.equal(await seen('bot'), '403  ');
    await world.api('PUT', `${made.routePath}/user_agent_filter`, { deny: ['bot'], enabled: false });
    assert.equal(await seen('bot'), '200 two two');
    for (const module of ['request_headers', 'response_headers', 'user_agent_filter'])
      await world.api('DELETE', `${made.routePath}/${module}`);
    assert.equal(await seen('bot'), '200 client ');
  });

  test('paths are rewritten alike, also those of WebSockets', async (t) => {
    upstream.answer = (request, response) =>
      response.end(`${request.url} ${String(request.headers['x-forwarded-prefix'])}`);
    echoingWebSockets(upstream);
    const made = await site();
    const agents = await visitors(made);
    t.after(() => disconnect(agents));
    const rewrite = `${made.routePath}/rewrite`;
    for (const to of ['/', '/v1/']) {
      await world.api('PUT', rewrite, { rules: [{ match_type: 'path_prefix', match: '/api/', to }] });
      const prefix = to === '/' ? '/api' : 'undefined';
      for (const agent of agents)
        assert.equal((await world.ask(made.host, '/api/x', { agent })).text, `${to}x ${prefix}`);
      const session = await world.http2(made.host);
      t.after(() => session.destroy());
      upstream.forget();
      await openWebSocketOverHttp2(session, made.host, '/api/socket');
      assert.equal(upstream.seen[0]?.url, `${to}socket`);
    }
    await world.api('DELETE', rewrite);
    for (const agent of agents)
      assert.equal((await world.ask(made.host, '/api/x', { agent })).text, '/api/x undefined');
  });

  test('a circuit counts the requests of all workers, opens once, and is closed by one probe', async (t) => {
    const destination = await world.api('POST', '/event_destinations', { target: { file: { name: 'all.ndjson' } } });
    await world.api('POST', '/event_subscriptions', {
      sources: ['circuit_opened.v0', 'circuit_closed.v0'].map((type) => ({ type })),
      destination_ids: [destination.id],
    });
    upstream.answer = (_request, response) => void response.end('ok');
    const made = await site();
    const agents = await visitors(made);
    t.after(() => disconnect(agents));
    const path = `${made.routePath}/circuit_breaker`;
    const each = async (): Promise<readonly number[]> => {
      const statuses: number[] = [];
      for (const agent of agents) statuses.push((await world.ask(made.host, '/', { agent })).status);
      return statuses;
    };
    await world.api('PUT', path, BREAKER);
    upstream.answer = (_request, response) => void response.writeHead(500).end();
    for (let times = 0; times < 3; times += 1) assert.deepEqual(await each(), [500, 500]);
    assert.equal((await world.api('GET', path)).state, 'closed');
    assert.deepEqual(await each(), [500, 500], 'the eighth failure opens it');
    assert.equal((await world.api('GET', path)).state, 'open');
    assert.deepEqual(await each(), [503, 503]);
    assert.match(await world.metrics(), new RegExp(`postern_circuit_open{[^}]*route="${made.routeId}"} 1\n`));
    assert.equal(await changes('open'), 1);

    await world.api('PUT', path, { ...BREAKER, tripped_duration: 1 });
    assert.equal((await world.api('GET', path)).state, 'closed', 'a changed configuration starts closed');
    for (let times = 0; times < 4; times += 1) assert.deepEqual(await each(), [500, 500]);
    assert.deepEqual(await each(), [503, 503]);
    let asked = 0;
    const held = Promise.withResolvers<void>();
    upstream.answer = (_request, response) => {
      asked += 1;
      void held.promise.then(() => response.end('ok'));
    };
    await until('it is half-open', async () => (await world.api('GET', path)).state === 'half_open');
    const probing = agents.map((agent) => world.ask(made.host, '/', { agent }));
    await until('a worker probes, and the other refuses', async () => {
      const first = await Promise.race(probing);
      return first.status === 503 && asked === 1;
    });
    held.resolve();
    assert.deepEqual(new Set((await Promise.all(probing)).map(({ status }) => status)), new Set([200, 503]));
    assert.deepEqual(await each(), [200, 200]);
    assert.equal((await world.api('GET', path)).state, 'closed');
    await until('each change is an event, once', async () => (await eventTypes()).length === 4);
    assert.deepEqual([await changes('open'), await changes('closed')], [2, 2]);

    upstream.answer = (_request, response) => void response.writeHead(500).end();
    await world.api('PUT', path, BREAKER);
    for (let times = 0; times < 4; times += 1) await each();
    assert.deepEqual(await each(), [503, 503]);
    await world.api('PUT', path, { ...BREAKER, enabled: false });
    assert.deepEqual(await each(), [500, 500], 'disabling is effective immediately');
    await world.api('PUT', path, BREAKER);
    assert.deepEqual(await each(), [500, 500], 'and starts again closed');
    for (let times = 0; times < 3; times += 1) await each();
    assert.deepEqual(await each(), [503, 503]);
    const raised = async () => (await world.api('GET', '/problems')).problems.map(({ message }: Problem) => message);
    await until('an alert is raised, which is a problem', async () => String(await raised()).includes(made.routeId));
    await world.api('DELETE', path);
    assert.doesNotMatch(await world.metrics(), new RegExp(`postern_circuit_open{[^}]*route="${made.routeId}"`));
  });
});
