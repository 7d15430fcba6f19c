import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { connect as connectTcp } from 'node:net';
import { after, suite, type TestContext, test } from 'node:test';
import { type RecordingUpstream, recordingUpstream } from '../../edge/traffic/recording-upstream.ts';
import { echoingWebSockets, openWebSocket, openWebSocketOverHttp2 } from '../../edge/traffic/web-socket.ts';
import type { ClusterNode } from '../../support/cluster/cluster-node.ts';
import { Cluster, until } from '../../support/cluster.ts';
import { isLong } from '../../support/share-of-cases.ts';
import { TEST_API_KEY } from '../../support/test-world.ts';

/** A silent link is given up after 1.5 s; the rest is for a busy machine. */
const ENDED_WITHIN_MS = 10_000;
/** The agent gives a silent node up after 12 s. */
const SERVICE_FREE_WITHIN_MS = 30_000;
const UPLOADS = ['/length', '/chunked', '/http2', '/tcp'];

interface Stream {
  readonly name: string;
  /** Resolves with what the visitor got until the end. */
  readonly ended: Promise<string>;
}

/** Visitors come to the first node, and the agent is connected to the second. */
const upstream = await recordingUpstream({ after });
const serviceEnds = echoingWebSockets(upstream);
const uploads = new Map<string, boolean>();
answerNothing(upstream);
const beside = await recordingUpstream({ after }, 'beside');
echoingWebSockets(beside);
const cluster = await Cluster.open({ after }, { nodes: 2 });
const visited = cluster.node(0);
const holder = cluster.node(1);
let host = '';
let tcpPort = 0;
const other = await visited.site(await visited.staticBackend(beside.address));

/** Answers an upload when it is complete, and never completes another response. */
function answerNothing(service: RecordingUpstream): void {
  service.answer = (request, response) => {
    if (request.method === 'POST') {
      request.on('error', () => {}).resume();
      request.once('close', () => uploads.set(request.url ?? '', request.complete));
      request.once('end', () => response.end('whole'));
      return;
    }
    if (request.url === '/') {
      response.end('here');
      return;
    }
    response.writeHead(200, request.url === '/part' ? { 'content-length': '1000000' } : {});
    response.write('a part');
  };
}

/** The whole of an error page, or everything until the end of the connection. */
function endOf(socket: Socket): Promise<string> {
  let text = '';
  return new Promise((resolve) => {
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      if (/ERR_POSTERN/.test(text)) resolve(text);
    });
    socket.on('error', () => {}).once('close', () => resolve(text));
  });
}

async function http1(name: string, head: string, body = ''): Promise<Stream> {
  const socket = await visited.connect(host);
  socket.write(`${head} HTTP/1.1\r\nHost: ${host}\r\n${body}`);
  return { name, ended: endOf(socket) };
}

async function http2(name: string, path: string, method: string): Promise<Stream> {
  const session = await visited.http2(host);
  const stream = session.request({ ':method': method, ':path': path }, { endStream: method === 'GET' });
  let text = '';
  stream
    .on('response', (head) => (text += `${head[':status']} `))
    .on('data', (chunk: Buffer) => (text += String(chunk)));
  if (method === 'POST') stream.write(Buffer.alloc(50_000));
  const ended = new Promise<string>((resolve) =>
    stream.on('error', () => {}).once('close', () => resolve(`${text} reset ${stream.rstCode}`)),
  );
  session.on('error', () => {});
  // The visitor may go on sending after the answer.
  const answered = new Promise<string>((resolve) => stream.once('end', () => resolve(text)));
  return { name, ended: method === 'POST' ? Promise.race([answered, ended]) : ended };
}

async function openAll(): Promise<readonly Stream[]> {
  uploads.clear();
  upstream.forget();
  const before = serviceEnds.length;
  const tcp = connectTcp({ host: visited.address, port: tcpPort });
  tcp.write(`POST /tcp HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n${'x'.repeat(50_000)}`);
  const streams = [
    await http1('an upload with a length', 'POST /length', `Content-Length: 100000\r\n\r\n${'x'.repeat(50_000)}`),
    await http1('an upload in chunks', 'POST /chunked', 'Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n'),
    await http2('an upload over HTTP/2', '/http2', 'POST'),
    await http1('a download', 'GET /part', '\r\n'),
    await http2('a stream over HTTP/2', '/stream', 'GET'),
    { name: 'a TCP connection', ended: endOf(tcp) },
  ];
  const webSockets = [
    await openWebSocket(await visited.connect(host), host),
    await openWebSocketOverHttp2(await visited.http2(host), host),
  ];
  for (const socket of webSockets) assert.ok(await socket.echoes('a'));
  for (const [at, socket] of webSockets.entries()) {
    streams.push({ name: `a WebSocket over HTTP/${at + 1}`, ended: socket.closed.then(() => '') });
  }
  await until('the service has all of them', () => {
    const paths = ['/length', '/chunked', '/http2', '/part', '/stream', '/tcp'];
    return paths.every((path) => upstream.bytes.includes(` ${path} `)) && serviceEnds.length === before + 2;
  });
  return streams;
}

/** A new one for each fault: an agent that has lost its node dials the other one. */
async function openAgent(t: TestContext): Promise<void> {
  const addr = upstream.address;
  const agent = await cluster.agent(
    [
      { proto: 'https', addr },
      { proto: 'tcp', addr },
    ],
    { at: [holder], connections: 1 },
  );
  t.after(() => agent.close());
  const [web, raw] = agent.tunnels.map(({ publicUrl }) => new URL(publicUrl ?? ''));
  host = web?.hostname ?? '';
  tcpPort = Number(raw?.port);
  await until('the tunnel is served', async () => (await visited.ask(host)).text === 'here');
}

/** Resolves with a line of figures. */
async function check(streams: readonly Stream[]): Promise<string> {
  const began = performance.now();
  let last = 0;
  const late = new Promise<'late'>((resolve) => setTimeout(() => resolve('late'), ENDED_WITHIN_MS).unref());
  const got = await Promise.all(
    streams.map(async ({ name, ended }) => {
      const text = await Promise.race([ended, late]);
      last = Math.max(last, performance.now() - began);
      return { name, text };
    }),
  );
  const hanging = got.filter(({ text }) => text === 'late').map(({ name }) => name);
  assert.deepEqual(hanging, []);
  for (const { name, text } of got) {
    assert.doesNotMatch(text, /whole/, name);
    if (/HTTP\/2/.test(name) && !/WebSocket/.test(name)) {
      assert.match(text, /^$|^50[234] .*ERR_POSTERN|reset [1-9]/s, name);
    } else if (/upload/.test(name)) assert.match(text, /^$|^HTTP\/1\.1 50[234] .*ERR_POSTERN/s, name);
  }
  return `the last visitor heard of it after ${Math.round(last)} ms`;
}

async function serviceIsFree(): Promise<number> {
  const ms = await until(
    'the service is free',
    () => uploads.size === UPLOADS.length && serviceEnds.every(({ stream }) => stream.destroyed),
    SERVICE_FREE_WITHIN_MS,
  );
  for (const [path, isWhole] of uploads) assert.equal(isWhole, false, `${path} was taken for whole`);
  return Math.round(ms);
}

async function nothingIsLeft(node: ClusterNode, streams: number): Promise<void> {
  await until(`${node.name} holds nothing`, async () => {
    const headers = { authorization: `Bearer ${TEST_API_KEY}` };
    const text = await (await fetch(`http://${node.address}:${node.ports.api}/metrics`, { headers })).text();
    const isIdle = /^postern_edge_requests_in_flight 0$/m.test(text);
    return isIdle && new RegExp(`^postern_edge_streams_in_flight ${streams}$`, 'm').test(text);
  });
}

suite('streams over a hop whose node', () => {
  test('of the visitors is killed: end at the service, which takes nothing for whole', async (t) => {
    await openAgent(t);
    const checked = check(await openAll());
    t.after(() => visited.start());
    await visited.kill();
    const figures = await checked;
    t.diagnostic(`${figures}, the service after another ${await serviceIsFree()} ms`);
    await nothingIsLeft(holder, 0);
    assert.equal((await holder.ask(host)).text, 'here');
  });

  const faults = [
    ['of the agent stands still', async () => holder.freeze(), async () => holder.thaw()],
    ['of the agent is killed', () => holder.kill(), async () => {}],
  ] as const;
  // The agent takes 12 s to give up a node that stands still.
  for (const [fault, begin, end] of isLong ? faults : faults.slice(1)) {
    test(`${fault}: end in time, nothing looks whole, and streams beside them go on`, async (t) => {
      await openAgent(t);
      const control = await openWebSocket(await visited.connect(other.host), other.host);
      t.after(() => control.stream.destroy());
      assert.ok(await control.echoes('before'));
      const checked = check(await openAll());
      t.after(() => end());
      await begin();
      const figures = await checked;
      assert.ok(await control.echoes('after'));
      await nothingIsLeft(visited, 1);
      t.diagnostic(`${figures}, the service after another ${await serviceIsFree()} ms`);
    });
  }
});
