import assert from 'node:assert/strict';
import type { ClientHttp2Session } from 'node:http2';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { modules } from '../../src/modules/registry.ts';
import { HookedModules } from '../edge/modules/hooked-modules.ts';
import { deadAddress, recordingUpstream, type SeenRequest } from '../edge/traffic/recording-upstream.ts';
import { EdgeWorld } from '../support/edge-world.ts';
import { TunnelWorld } from '../support/tunnel-world.ts';
import { Collector, type SeenSpan } from './collector.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';
const [INTERNAL, SERVER, CLIENT] = [1, 2, 3];

const collector = await Collector.open({ after });
const upstream = await recordingUpstream({ after });
const hooks = new HookedModules();
const world = await TunnelWorld.open(
  { after },
  {
    POSTERN_OTEL_ENDPOINT: collector.url,
    POSTERN_OTEL_HEADERS: 'authorization=Bearer collector-secret, x-team = edge ',
    POSTERN_NODE_NAME: 'one',
    // Traces need no history.
    POSTERN_REQUEST_HISTORY: '0',
  },
  { modules: [...modules, ...hooks.modules] },
);
const { edge } = world;
const backend = await edge.staticBackend(upstream.address);
const site = await edge.site(backend);

/** The spans of the request, after that of the edge. */
async function spansFor(
  path: string,
  headers: Readonly<Record<string, string | string[]>> = {},
  host = site.host,
): Promise<readonly [SeenSpan, ...SeenSpan[]]> {
  const answer = await edge.ask(host, path, { headers: headers as never });
  return (await collector.ofRequest(answer.headers['postern-request-id'])) as [SeenSpan, ...SeenSpan[]];
}

function seenAt(path: string): SeenRequest {
  return upstream.seen.find(({ url }) => url === path) ?? assert.fail(`nothing came for ${path}`);
}

function passedOn(path: string): { readonly traceId: string; readonly spanId: string; readonly flags: string } {
  const { traceparent: header } = seenAt(path).headers;
  const [, traceId = '', spanId = '', flags = ''] =
    /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(String(header)) ?? assert.fail(String(header));
  return { traceId, spanId, flags };
}

async function overHttp2(session: ClientHttp2Session, head: Record<string, string | string[]>): Promise<string> {
  const stream = session.request(head);
  const id = await new Promise<string>((resolve) => {
    stream.once('response', (headers) => resolve(String(headers['postern-request-id'])));
  });
  stream.resume();
  await new Promise((resolve) => stream.once('close', resolve));
  return id;
}

/** Each test has its own path: spans come once a second, and no test waits for another. */
suite('a trace', { concurrency: true }, () => {
  test('has a span of the edge and one of the upstream, whose id the upstream gets', async () => {
    const [root, ...others] = await spansFor('/cart?token=1');
    assert.equal(others.length, 1);
    const sent = others[0] ?? assert.fail();
    assert.deepEqual([root.name, root.kind, root.parentSpanId, root.isError], ['GET /', SERVER, undefined, false]);
    const { 'postern.request_id': _id, ...attributes } = root.attributes;
    assert.deepEqual(attributes, {
      'http.request.method': 'GET',
      'url.scheme': 'https',
      'url.path': '/cart',
      'server.address': site.host,
      'client.address': '127.0.0.1',
      'http.response.status_code': 200,
      'http.route': '/',
      'postern.edge': site.edgeId,
      'postern.route': site.routeId,
    });
    assert.deepEqual([sent.name, sent.kind, sent.parentSpanId], ['upstream', CLIENT, root.spanId]);
    assert.deepEqual(sent.attributes, {
      'http.request.method': 'GET',
      'postern.target': upstream.address,
      'http.response.status_code': 200,
    });
    assert.deepEqual(passedOn('/cart?token=1'), { traceId: root.traceId, spanId: sent.spanId, flags: '01' });
    assert.ok(root.startMs <= sent.startMs && sent.startMs <= sent.endMs && sent.endMs <= root.endMs);
    assert.ok(Math.abs(root.startMs - Date.now()) < 60_000);
    assert.equal(root.resource['service.name'], 'postern');
    assert.equal(root.resource['service.instance.id'], 'one');
  });

  for (const flags of ['00', '01'])
    test(`continues that of a client whose flags are ${flags}`, async () => {
      const path = `/flags-${flags}`;
      const [root] = await spansFor(path, { traceparent: `00-${TRACE}-${SPAN}-${flags}`, tracestate: 'a=b' });
      assert.deepEqual([root.traceId, root.parentSpanId], [TRACE, SPAN]);
      assert.deepEqual([passedOn(path).traceId, passedOn(path).flags], [TRACE, '01']);
      assert.equal(seenAt(path).headers['tracestate'], 'a=b');
    });

  for (const [what, traceparent] of [
    ['an invalid', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['a repeated', [`00-${TRACE}-${SPAN}-01`, `00-${TRACE}-${SPAN}-01`]],
    ['a hostile', `00-${TRACE}-${SPAN}-01${'-x'.repeat(1000)}<script>`],
  ] as const)
    test(`begins with ${what} traceparent, and the upstream gets nothing else`, async () => {
      const path = `/${encodeURIComponent(what)}`;
      const [root] = await spansFor(path, { traceparent: traceparent as string | string[], tracestate: 'a=b' });
      assert.notEqual(root.traceId, TRACE);
      assert.equal(root.parentSpanId, undefined);
      assert.equal(passedOn(path).traceId, root.traceId);
      const names = seenAt(path).rawHeaders.filter((text) => /^trace/i.test(text));
      assert.deepEqual(names, ['traceparent']);
    });

  test('of an HTTP/2 client is continued, or begins when the header is repeated', async () => {
    const session = await edge.http2(site.host);
    const head = { ':path': '/two' };
    const one = await overHttp2(session, { ...head, traceparent: `01-${TRACE.replace('0', '1')}-${SPAN}-01-x` });
    assert.equal((await collector.ofRequest(one))[0]?.parentSpanId, SPAN);
    const two = await overHttp2(session, {
      ...head,
      traceparent: [`00-${TRACE}-${SPAN}-01`, `00-${TRACE}-${SPAN}-01`],
    });
    assert.equal((await collector.ofRequest(two))[0]?.parentSpanId, undefined);
    session.close();
  });

  test('has a span for a module that waited, and none for one that did not', async () => {
    const slow = await edge.site(backend);
    for (const module of ['first', 'second']) await edge.api('PUT', `${slow.routePath}/${module}`, {});
    hooks.second = { judge: () => sleep(30).then(() => ({ isPass: true, reason: 'late' }) as const) };
    const [root, waited, sent, ...others] = await spansFor('/', {}, slow.host);
    assert.deepEqual([waited?.name, waited?.kind, waited?.parentSpanId], ['module second', INTERNAL, root.spanId]);
    assert.ok((waited?.endMs ?? 0) - (waited?.startMs ?? 0) > 25);
    assert.ok((waited?.endMs ?? 0) <= (sent?.startMs ?? 0) && (waited?.startMs ?? 0) >= root.startMs);
    assert.deepEqual([sent?.name, others.length], ['upstream', 0]);
  });

  test('of a refused request has no upstream, and names what refused it', async () => {
    const refused = await edge.site(backend);
    const { policyId } = await edge.ipPolicy('deny', '127.0.0.0/8');
    await edge.api('PUT', `${refused.routePath}/ip_restriction`, { ip_policy_ids: [policyId] });
    const [root, ...others] = await spansFor('/', { traceparent: `00-${TRACE}-${SPAN}-01` }, refused.host);
    assert.deepEqual([root.parentSpanId, root.isError], [SPAN, false]);
    assert.equal(root.attributes['http.response.status_code'], 403);
    assert.match(String(root.attributes['postern.refused_by']), /^ip_restriction:/);
    assert.deepEqual(
      others.filter(({ parentSpanId }) => parentSpanId === root.spanId),
      [],
    );
  });

  test('has a span for each attempt, and the upstream gets the id of its own', async () => {
    const { id } = await edge.api('POST', '/backends/failover', {
      backends: [await edge.staticBackend(await deadAddress()), backend],
    });
    const [, failed, sent] = await spansFor('/attempts', {}, (await edge.site(id)).host);
    assert.deepEqual([failed?.attributes['error.type'], failed?.isError], ['refused', true]);
    assert.equal(failed?.attributes['http.response.status_code'], undefined);
    assert.deepEqual([sent?.isError, sent?.spanId], [false, passedOn('/attempts').spanId]);
  });

  test('is an error when nothing answers', async () => {
    const dead = await edge.site(await edge.staticBackend(await deadAddress()));
    const [root, failed] = await spansFor('/', {}, dead.host);
    assert.deepEqual([root.isError, root.attributes['http.response.status_code']], [true, 502]);
    assert.match(String(root.attributes['error.type']), /^ERR_POSTERN_/);
    assert.equal(failed?.isError, true);
  });

  test('goes through a tunnel to the service', async () => {
    const agent = await world.agent([{ proto: 'https', addr: upstream.address }]);
    const { hostname } = new URL(agent.publicUrl ?? '');
    const [root, sent, tunnel] = await spansFor('/tunnel', {}, hostname);
    assert.deepEqual([sent?.name, sent?.parentSpanId], ['upstream', root.spanId]);
    assert.deepEqual([tunnel?.name, tunnel?.kind, tunnel?.parentSpanId], ['tunnel', INTERNAL, sent?.spanId]);
    assert.equal(tunnel?.attributes['postern.tunnel'], agent.tunnels[0]?.id);
    assert.deepEqual(passedOn('/tunnel'), { traceId: root.traceId, spanId: sent?.spanId, flags: '01' });
    assert.ok(!upstream.bytes.includes('postern-trace'));
  });

  test('has a fixed name for a method that a client made up', async () => {
    const answer = await edge.ask(site.host, '/', { method: 'PROPFIND' });
    const [root] = await collector.ofRequest(answer.headers['postern-request-id']);
    assert.deepEqual([root?.name, root?.attributes['http.request.method']], ['HTTP /', '_OTHER']);
  });

  test('never contains a query, a header, a cookie or a credential', async () => {
    await spansFor('/secret/path?secret-query=secret-value', {
      cookie: 'session=secret-cookie',
      authorization: 'Bearer secret-token',
      'user-agent': 'secret-agent',
      referer: 'https://secret-referer.example',
      'x-api-key': 'secret-key',
      traceparent: `00-${TRACE}-${SPAN}-01`,
      tracestate: 'a=secret-state',
    });
    const sent = collector.texts.join();
    assert.ok(sent.includes('/secret/path'));
    assert.deepEqual(sent.match(/secret-\w+/g), null);
  });

  test('bounds what a client can put into it', async () => {
    const [root] = await spansFor(`/${'x'.repeat(5000)}`);
    assert.equal(String(root.attributes['url.path']).length, 1025);
  });
});

test('an explanation shows the header without a new id', async () => {
  const explained = async (headers: Readonly<Record<string, string>>): Promise<unknown> => {
    const { upstream_request } = await edge.api('POST', '/explain', { url: `https://${site.host}/explained`, headers });
    return upstream_request.headers_added.traceparent;
  };
  assert.equal(await explained({}), `00-${'0'.repeat(32)}-${'0'.repeat(16)}-00`);
  assert.equal(await explained({ traceparent: `00-${TRACE}-${SPAN}-01` }), `00-${TRACE}-${'0'.repeat(16)}-00`);
});

test('reaches the collector at its path, with the configured headers, which are shown nowhere', async () => {
  const { url, headers } = collector.heads[0] ?? assert.fail();
  assert.equal(url, '/v1/traces');
  assert.deepEqual([headers['authorization'], headers['x-team']], ['Bearer collector-secret', 'edge']);
  assert.equal(headers['content-type'], 'application/x-protobuf');
  assert.ok(!JSON.stringify(await edge.api('GET', '/settings')).includes('collector-secret'));
  assert.ok(!edge.world.logLines.join().includes('collector-secret'));
  const metrics = await edge.metrics();
  assert.match(metrics, /postern_otel_spans_total\{result="sent"\} [1-9]/);
  assert.match(metrics, /postern_otel_spans_total\{result="failed"\} 0/);
});

test('is set up by variables of OpenTelemetry alone, with JSON and a path of its own', async (t) => {
  const theirs = await Collector.open(t);
  const node = await EdgeWorld.open(t, {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${theirs.url}/in/`,
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20their-secret',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_SERVICE_NAME: 'shop',
    OTEL_RESOURCE_ATTRIBUTES: 'service.name=other,service.version=7%2C1,team=edge',
    OTEL_TRACES_SAMPLER: 'always_on',
  });
  const { host } = await node.site(await node.httpResponse('hello'));
  const { headers } = await node.ask(host);
  const [span] = await theirs.ofRequest(headers['postern-request-id']);
  const { url, headers: sent } = theirs.heads[0] ?? assert.fail();
  assert.deepEqual(
    [url, sent['content-type'], sent['authorization']],
    ['/in/', 'application/json', 'Bearer their-secret'],
  );
  const { 'service.name': name, 'service.version': version, team } = span?.resource ?? {};
  assert.deepEqual([name, version, team], ['shop', '7,1', 'edge']);
  assert.ok(!JSON.stringify(await node.api('GET', '/settings')).includes('their-secret'));
});

test('headers for another collector, in a variable of OpenTelemetry, do not reach one with headers of its own', async (t) => {
  const own = await Collector.open(t);
  const before = process.env['OTEL_EXPORTER_OTLP_HEADERS'];
  process.env['OTEL_EXPORTER_OTLP_HEADERS'] = 'x-other=secret-of-another';
  t.after(() => {
    if (before === undefined) delete process.env['OTEL_EXPORTER_OTLP_HEADERS'];
    else process.env['OTEL_EXPORTER_OTLP_HEADERS'] = before;
  });
  const node = await EdgeWorld.open(t, { POSTERN_OTEL_ENDPOINT: own.url, POSTERN_OTEL_HEADERS: 'x-own=1' });
  const { host } = await node.site(await node.httpResponse('hello'));
  await own.ofRequest((await node.ask(host)).headers['postern-request-id']);
  const { headers } = own.heads[0] ?? assert.fail();
  assert.deepEqual([headers['x-own'], headers['x-other']], ['1', undefined]);
});

test('without otel_endpoint, trace headers pass as they came', async (t) => {
  const off = await EdgeWorld.open(t);
  const { host } = await off.site(await off.staticBackend(upstream.address));
  const given = { traceparent: 'anything', tracestate: '=' };
  await off.ask(host, '/off', { headers: given });
  const { traceparent, tracestate } = seenAt('/off').headers;
  assert.deepEqual({ traceparent, tracestate }, given);
  await off.ask(host, '/off-without');
  assert.equal(seenAt('/off-without').headers['traceparent'], undefined);
});

test('a ratio of 0 records nothing, and upstreams hear that', async (t) => {
  const quiet = await EdgeWorld.open(t, { POSTERN_OTEL_ENDPOINT: collector.url, POSTERN_OTEL_SAMPLE_RATIO: '0' });
  const { host } = await quiet.site(await quiet.staticBackend(upstream.address));
  await quiet.ask(host, '/quiet', { headers: { traceparent: `00-${TRACE}-${SPAN}-01` } });
  const { traceId, spanId, flags } = passedOn('/quiet');
  assert.deepEqual([traceId, flags], [TRACE, '00']);
  assert.notEqual(spanId, SPAN);
  assert.match(await quiet.metrics(), /postern_otel_queued_spans 0/);
});
