import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { startInspector } from '../../../src/tunnel/agent/inspector/index.ts';
import { InspectorWorld } from './inspector-world.ts';

interface Body {
  readonly total_bytes: number;
  readonly kept_bytes: number;
  readonly is_truncated: boolean;
  readonly content_encoding: string | null;
  readonly is_decoded: boolean;
  readonly problem: string | null;
  readonly base64: string;
}
interface Side {
  readonly headers: readonly { readonly name: string; readonly value: string; readonly masked?: true }[];
  readonly body: Body;
}
interface Detail {
  readonly request: Side;
  readonly response: Side;
  readonly not_replayable: string | null;
}

async function detail(world: InspectorWorld, id: string): Promise<Detail> {
  return (await world.finished(id)) as unknown as Detail;
}

function text(body: Body): string {
  return Buffer.from(body.base64, 'base64').toString();
}

test('stores a request with its head, body, response and times', async (context) => {
  const world = await InspectorWorld.open(context);
  await world.pass('/a?b=1', { method: 'POST', headers: { 'x-one': '1', 'content-type': 'text/plain' }, body: 'sent' });
  const summary = await world.newest();
  assert.equal(summary.method, 'POST');
  assert.equal(summary.path, '/a?b=1');
  assert.equal(summary.status, 200);
  assert.equal(summary.problem, null);
  assert.ok((summary.first_byte_ms ?? -1) >= 0 && (summary.duration_ms ?? -1) >= (summary.first_byte_ms ?? 0));
  assert.equal(summary.request_bytes, 4);
  const { request, response } = await detail(world, summary.id);
  assert.ok(request.headers.some(({ name, value }) => name === 'x-one' && value === '1'));
  assert.equal(text(request.body), 'sent');
  assert.deepEqual(JSON.parse(text(response.body)), { hello: '/a?b=1', got: 4 });
});

test('reports status and tunnels', async (context) => {
  const world = await InspectorWorld.open(context, {}, [{ name: 'web' }, { name: 'admin' }]);
  const { json: status } = await world.ask('/api/status');
  assert.deepEqual((status as { agent: object }).agent, {
    status: 'online',
    session: 'ts_1',
    region: 'local',
    nodes: ['one'],
    round_trip_ms: 3.2,
    active: 0,
  });
  assert.equal((status as { inspector: { is_masked: boolean } }).inspector.is_masked, true);
  const { json } = await world.ask('/api/tunnels');
  const { tunnels } = json as { tunnels: { name: string; forwards_to: string }[] };
  assert.deepEqual(
    tunnels.map(({ name }) => name),
    ['web', 'admin'],
  );
  assert.match(tunnels[0]?.forwards_to ?? '', /^http:\/\/localhost:\d+$/);
});

test('masks sensitive headers on the server, on both sides and in the filter, and shows them with unmask', async (context) => {
  const secrets = {
    authorization: 'Bearer s3cret-a',
    cookie: 'sid=s3cret-b; theme=s3cret-c',
    'x-api-key': 's3cret-d',
    'postern-auth-user-email': 's3cret-e',
    'x-amz-security-token': 's3cret-f',
    'proxy-authorization': 'Basic s3cret-g',
  };
  for (const unmask of [false, true]) {
    const world = await InspectorWorld.open(context, { unmask });
    world.respond = (_seen, response) => {
      response.setHeader('set-cookie', ['sid=s3cret-h; Path=/; HttpOnly', 'other=s3cret-i; x=s3cret-j']);
      response.end('ok');
    };
    await world.pass('/', { headers: secrets });
    const { id } = await world.newest();
    const { body } = await world.ask(`/api/requests/http/${id}`);
    const found = body.toString().match(/s3cret-[a-j]/g) ?? [];
    assert.equal(found.length, unmask ? 10 : 0, body.toString());
    assert.equal((await world.list('?filter=s3cret')).length, unmask ? 1 : 0);
    assert.equal(world.seen[0]?.headers.authorization, 'Bearer s3cret-a', 'the service still gets it');
    if (unmask) continue;
    const { request, response } = await detail(world, id);
    const shown = (side: Side, name: string) =>
      side.headers.filter((one) => one.name === name).map(({ value }) => value);
    assert.deepEqual(shown(request, 'authorization'), ['Bearer ••••••••']);
    assert.deepEqual(shown(request, 'cookie'), ['sid=••••••••; theme=••••••••']);
    assert.deepEqual(shown(response, 'set-cookie'), ['sid=••••••••; Path=/; HttpOnly', 'other=••••••••']);
  }
});

test('stores bodies up to the limit, with their full length and a mark', async (context) => {
  const world = await InspectorWorld.open(context, { maxBodyBytes: 1_000 });
  world.respond = (_seen, response) => response.end(Buffer.alloc(5_000, 'r'));
  await world.pass('/big', { method: 'PUT', body: Buffer.alloc(300_000, 'q') });
  const { id } = await world.newest();
  const { request, response, not_replayable: why } = await detail(world, id);
  for (const [{ body }, total, letter] of [
    [request, 300_000, 'q'],
    [response, 5_000, 'r'],
  ] as const) {
    assert.deepEqual([body.total_bytes, body.kept_bytes, body.is_truncated], [total, 1_000, true]);
    assert.equal(text(body), letter.repeat(1_000));
  }
  assert.equal(world.seen[0]?.body.length, 300_000);
  assert.match(why ?? '', /only 1000 of the 300000 bytes/);
  const refused = await world.change('POST', { id });
  assert.equal(refused.status, 409);
  assert.equal(world.seen.length, 1);
});

test('decodes encoded bodies when viewed: complete, truncated, corrupt or bombs', async (context) => {
  const world = await InspectorWorld.open(context, { maxBodyBytes: 20_000 });
  const words = 'The same words again. '.repeat(50);
  const noise = randomBytes(40_000);
  const cases = [
    ['gzip', gzipSync(words), words],
    ['br', brotliCompressSync(words), words],
    ['zstd', zstdCompressSync(words), words],
    ['deflate', deflateSync(words), words],
    ['deflate', deflateRawSync(words), words],
    ['gzip, br', brotliCompressSync(gzipSync(words)), words],
  ] as const;
  for (const [encoding, bytes, expected] of cases) {
    world.respond = (_seen, response) => response.setHeader('content-encoding', encoding).end(bytes);
    await world.pass('/');
    const { response } = await detail(world, (await world.newest()).id);
    assert.equal(text(response.body), expected, encoding);
    assert.equal(response.body.is_decoded, true);
    assert.equal(response.body.problem, null);
  }
  world.respond = (_seen, response) => response.setHeader('content-encoding', 'gzip').end(gzipSync(noise));
  await world.pass('/cut');
  const cut = (await detail(world, (await world.newest()).id)).response.body;
  const begun = Buffer.from(cut.base64, 'base64');
  assert.ok(begun.length > 1_000 && noise.subarray(0, begun.length).equals(begun));
  assert.equal(cut.is_truncated, true);
  assert.notEqual(cut.problem, null);
  world.respond = (_seen, response) => response.setHeader('content-encoding', 'gzip').end('this is no gzip');
  await world.pass('/broken');
  const broken = (await detail(world, (await world.newest()).id)).response.body;
  assert.deepEqual([broken.is_decoded, text(broken)], [false, 'this is no gzip']);
  const swelling = gzipSync(gzipSync(Buffer.alloc(100_000_000), { level: 1 }));
  assert.ok(swelling.length < 20_000);
  world.respond = (_seen, response) => response.setHeader('content-encoding', 'gzip, gzip').end(swelling);
  await world.pass('/bomb');
  const bomb = (await detail(world, (await world.newest()).id)).response.body;
  assert.equal(Buffer.from(bomb.base64, 'base64').length, 1_048_576);
  assert.match(bomb.problem ?? '', /only the first 1048576 bytes/);
});

test('limits and filters the list', async (context) => {
  const world = await InspectorWorld.open(context, {}, [{ name: 'web' }, { name: 'admin' }]);
  world.respond = (seen, response) => {
    response.statusCode = seen.url.startsWith('/missing') ? 404 : 200;
    response.end('the answer has a needle in it');
  };
  await world.pass('/one', { headers: { 'x-color': 'green' } });
  await world.pass('/missing/two', { method: 'POST', body: 'x' });
  await world.pass('/three', { headers: { 'postern-tunnel': '1' } });
  const paths = async (query: string) => (await world.list(query)).map(({ path }) => path);
  assert.deepEqual(await paths(''), ['/three', '/missing/two', '/one']);
  assert.deepEqual(await paths('?limit=2'), ['/three', '/missing/two']);
  assert.deepEqual(await paths('?tunnel=admin'), ['/three']);
  assert.deepEqual(await paths('?filter=method:post'), ['/missing/two']);
  assert.deepEqual(await paths('?filter=status:4xx'), ['/missing/two']);
  assert.deepEqual(await paths('?filter=status:200'), ['/three', '/one']);
  assert.deepEqual(await paths('?filter=path:MISS'), ['/missing/two']);
  assert.deepEqual(await paths('?filter=GREEN'), ['/one']);
  assert.deepEqual(await paths('?filter=body:needle+status:404'), ['/missing/two']);
  assert.deepEqual(await paths('?filter=nothing'), []);
  assert.equal((await world.ask('/api/requests/http?limit=0')).status, 400);
  assert.equal((await world.ask('/api/requests/http?limit=x')).status, 400);
});

test('serves a body as raw bytes and never under its declared type', async (context) => {
  const world = await InspectorWorld.open(context);
  world.respond = (_seen, response) => response.setHeader('content-type', 'text/html').end('<script>alert(1)</script>');
  await world.pass('/');
  const { id } = await world.newest();
  const { status, headers, body } = await world.ask(`/api/requests/http/${id}/body?side=response`);
  assert.equal(status, 200);
  assert.equal(body.toString(), '<script>alert(1)</script>');
  assert.equal(headers['content-type'], 'application/octet-stream');
  assert.equal(headers['content-disposition'], `attachment; filename="${id}-response.bin"`);
  assert.equal(headers['x-content-type-options'], 'nosniff');
  assert.match(String(headers['content-security-policy']), /default-src 'none'.*sandbox/);
  assert.equal((await world.ask(`/api/requests/http/${id}/body?side=other`)).status, 400);
  assert.equal((await world.ask('/api/requests/http/req_none/body?side=request')).status, 404);
});

test('sends events when requests start, are answered and end, and when the list is cleared', async (context) => {
  const world = await InspectorWorld.open(context);
  const answer = Promise.withResolvers<void>();
  world.respond = (_seen, response) => {
    response.write('first');
    void answer.promise.then(() => response.end());
  };
  const reading = get({ port: world.inspector.address.port, path: '/api/events', agent: false });
  const [stream] = (await once(reading, 'response')) as [IncomingMessage];
  context.after(() => stream.destroy());
  assert.equal(stream.headers['content-type'], 'text/event-stream');
  stream.setEncoding('utf8');
  const events: { event: string; data: Record<string, unknown> }[] = [];
  let rest = '';
  let wake = (): void => {};
  stream.on('data', (chunk: string) => {
    const pieces = (rest + chunk).split('\n\n');
    rest = pieces.pop() ?? '';
    for (const piece of pieces) {
      const match = /^event: (.*)\ndata: (.*)$/.exec(piece);
      if (match !== null) events.push({ event: match[1] ?? '', data: JSON.parse(match[2] ?? '') });
    }
    wake();
  });
  const until = async (count: number) => {
    while (events.length < count) await new Promise<void>((resolve) => (wake = resolve));
  };
  const passed = world.pass('/live');
  await until(2);
  assert.deepEqual(
    events.map(({ event, data }) => [event, data['path'], data['status'], data['duration_ms']]),
    [
      ['request', '/live', null, null],
      ['request', '/live', 200, null],
    ],
  );
  answer.resolve();
  await passed;
  await until(3);
  assert.ok((events[2]?.data['duration_ms'] as number) > 0);
  assert.equal((await world.change('DELETE')).status, 204);
  await until(4);
  assert.equal(events[3]?.event, 'cleared');
  assert.deepEqual(await world.list(), []);
});

test('stores a request that never reached the service with the error', async (context) => {
  const world = await InspectorWorld.open(context, {}, [{ addr: '127.0.0.1:1' }]);
  assert.equal(await world.pass('/down', { method: 'POST', body: 'x' }), 502);
  const { status, problem } = await world.newest();
  assert.equal(status, null);
  assert.match(problem ?? '', /refuses connections/);
  assert.equal((await world.list('?filter=status:failed')).length, 1);
});

test('skips a port in use and reports it', async (context) => {
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  context.after(() => holder.close());
  const { port } = holder.address() as AddressInfo;
  const inspector = await startInspector({ listen: { port }, tunnels: () => [], status: () => null });
  context.after(() => inspector.close());
  assert.ok(inspector.isOtherPort);
  assert.ok(inspector.address.port > port && inspector.address.port <= port + 10);
  assert.equal(inspector.url, `http://127.0.0.1:${inspector.address.port}`);
  assert.equal((await fetch(`${inspector.url}/api/status`)).status, 200);
});

test('closing frees the port and ends readers', async () => {
  const inspector = await startInspector({ listen: { port: 0 }, tunnels: () => [], status: () => null });
  const reading = get({ port: inspector.address.port, path: '/api/events', agent: false });
  reading.on('error', () => {});
  const [stream] = (await once(reading, 'response')) as [IncomingMessage];
  const ended = new Promise((resolve) => stream.once('close', resolve).on('error', () => {}));
  stream.resume();
  await inspector.close();
  await ended;
  const again = await startInspector({
    listen: { port: inspector.address.port },
    tunnels: () => [],
    status: () => null,
  });
  assert.equal(again.isOtherPort, false);
  await again.close();
});
