import assert from 'node:assert/strict';
import { request as requestHttp } from 'node:http';
import { after, suite, test } from 'node:test';
import { modules } from '../../src/modules/registry.ts';
import { namesOf } from '../../src/modules/reserved-names.ts';
import { recordingUpstream } from '../edge/traffic/recording-upstream.ts';
import { until } from '../support/cluster.ts';
import { newHost } from '../support/edge-world.ts';
import { LiveView } from '../support/live-view.ts';
import { LoginWorld } from '../support/login-world.ts';
import { TunnelWorld } from '../support/tunnel-world.ts';
import { Collector } from '../tracing/collector.ts';

const SECRET = 'planted-in-a-query';
const ownPaths = [
  ...new Set(modules.flatMap((module) => [...namesOf(module, 'ownPaths'), ...(module.secretPaths ?? [])])),
];
/** A mistyped link still has its secret. */
const spellings = [
  ...ownPaths,
  '/.postern/guest/',
  '/%2epostern/guest',
  '/.postern%2Fguest',
  '/.POSTERN/guest',
  '/x/.postern/guest',
  '/.postern;a/guest',
  '/%5C.postern/guest',
  '/.postern%5Cguest',
  '//.postern//guest',
];

const collector = await Collector.open({ after });
const world = await LoginWorld.open(
  { after },
  {
    env: {
      POSTERN_REQUEST_HISTORY: '500',
      POSTERN_REQUEST_HISTORY_QUERY: 'true',
      POSTERN_REQUEST_HISTORY_HEADERS: 'referer,x-team',
      POSTERN_ACCESS_LOG: 'true',
      POSTERN_OTEL_ENDPOINT: collector.url,
    },
  },
);
const { edge } = world;
const guarded = await world.site();
await edge.api('PUT', `${guarded.routePath}/access`, { allow: [{ guests: true }] });
const open = await edge.site(await edge.staticBackend(world.upstreamAddress));

function overHttp(host: string, path: string): Promise<string> {
  const { port } = edge.world.server.addresses.edgeHttp ?? assert.fail('it listens for HTTP');
  return new Promise((resolve, reject) => {
    const sent = requestHttp({ host: '127.0.0.1', port, path, headers: { host } }, (response) => {
      response.resume().on('end', () => resolve(String(response.headers['postern-request-id'])));
    });
    sent.on('error', reject).end();
  });
}

async function overHttp2(host: string, path: string): Promise<string> {
  const session = await edge.http2(host);
  const stream = session.request({ ':path': path, referer: `https://${host}${path}` });
  const id = await new Promise<string>((resolve) => {
    stream.once('response', (headers) => resolve(String(headers['postern-request-id'])));
  });
  stream.resume();
  return id;
}

const overHttp1 = async (host: string, path: string): Promise<string> => {
  const { headers } = await edge.ask(host, path, { headers: { referer: `https://${host}${path}` } });
  return String(headers['postern-request-id']);
};

suite('the query of an own path', () => {
  test('is in no record of the request, whatever the history keeps', async (t) => {
    assert.ok(ownPaths.includes('/.postern/guest') && ownPaths.includes('/.postern/callback'), String(ownPaths));
    const view = await LiveView.open(edge.world, 'topics=requests');
    t.after(() => view.response.destroy());
    const { id: to } = await edge.api('POST', '/event_destinations', {
      target: { webhook: { url: 'https://x.example.com' } },
    });
    await edge.api('POST', '/event_subscriptions', {
      sources: [{ type: 'http_request_complete.v0' }],
      destination_ids: [to],
    });
    const ids: string[] = [];
    for (const host of [guarded.host, open.host]) {
      for (const path of spellings) {
        const target = `${path}?link=${SECRET}&code=${SECRET}&state=${SECRET}`;
        ids.push(await overHttp1(host, target));
        if (ownPaths.includes(path)) ids.push(await overHttp2(host, target), await overHttp(host, target));
      }
    }
    // The records that this test looks at do have queries of other paths.
    ids.push(await overHttp1(guarded.host, '/page?kept=here'));
    const all: unknown[] = [];
    for (const id of ids) all.push(await edge.api('GET', `/requests/${id}`));
    assert.equal((all.at(-1) as { query: string }).query, 'kept=here');
    await until('the live view has all', () =>
      view.lines.some(({ data }) => JSON.stringify(data).includes('kept=here')),
    );
    const spans = await collector.ofRequest(ids.at(-1) as string);
    assert.ok(spans.length > 0);
    const deliveries = await edge.api('GET', '/event_deliveries?limit=100');
    const places: Readonly<Record<string, unknown>> = {
      history: all,
      list: await edge.api('GET', '/requests?limit=100'),
      live: view.lines,
      spans: collector.spans,
      deliveries,
      log: edge.world.logLines,
    };
    for (const [place, kept] of Object.entries(places)) {
      assert.ok(!JSON.stringify(kept).includes(SECRET), `${place} has it`);
    }
  });

  test('is in no explanation', async () => {
    for (const path of ownPaths) {
      const url = `https://${guarded.host}${path}?link=${SECRET}`;
      assert.ok(!JSON.stringify(await edge.api('POST', '/explain', { url })).includes(SECRET), path);
    }
  });

  test('does not reach an agent, nor its inspector', async (t) => {
    const tunnels = await TunnelWorld.open(t);
    const upstream = await recordingUpstream(t);
    const host = newHost();
    await tunnels.agent([{ proto: 'https', addr: upstream.address, domain: host }]);
    const secretPaths = modules.flatMap((module) => module.secretPaths ?? []);
    assert.ok(secretPaths.length > 0);
    for (const path of secretPaths) {
      const { status } = await tunnels.edge.ask(host, `${path}?link=${SECRET}`);
      assert.equal(status, 404, path);
    }
    assert.equal((await tunnels.edge.ask(host, '/page')).status, 200);
    assert.deepEqual(
      upstream.seen.map(({ url }) => url),
      ['/page'],
    );
  });
});
