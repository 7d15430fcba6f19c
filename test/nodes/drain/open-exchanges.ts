import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect as connectTcp, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { recordingUpstream } from '../../edge/traffic/recording-upstream.ts';
import { echoingWebSockets, openWebSocket, openWebSocketOverHttp2 } from '../../edge/traffic/web-socket.ts';
import { Cluster, until } from '../../support/cluster.ts';
import { RollingLoad } from './rolling-load.ts';

const SHUTDOWN_SECONDS = 4;
/** Exchanges that end by themselves do so this long after the node began to stop. */
const ENDS_AFTER_MS = 2_000;

interface Outcome {
  readonly name: string;
  readonly ms: number;
  readonly text: string;
}

/** SIGTERM to one of two nodes in the middle of exchanges of every kind, while visitors use both nodes. */
export async function drainOpenExchanges(t: TestContext, workers: number): Promise<readonly string[]> {
  const upstream = await recordingUpstream({ after: (task) => t.after(task) });
  echoingWebSockets(upstream);
  const responses: ServerResponse[] = [];
  upstream.answer = (request, response) => {
    if (request.url === '/') {
      response.end('here');
    } else if (request.method === 'POST') {
      request.resume().once('end', () => response.end('whole'));
    } else {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('begun ');
      if (request.url === '/download') responses.push(response);
    }
  };
  const env = { POSTERN_SHUTDOWN_TIMEOUT: String(SHUTDOWN_SECONDS), POSTERN_WORKERS: String(workers) };
  const cluster = await Cluster.open(t, { nodes: 2, env });
  const [leaving, staying] = cluster.nodes;
  assert.ok(leaving !== undefined && staying !== undefined);
  const addr = upstream.address;
  const agent = await cluster.agent(
    [
      { proto: 'https', addr },
      { proto: 'tcp', addr },
    ],
    { at: cluster.nodes },
  );
  const statuses: string[] = [];
  await until('the agent is on two nodes', () => agent.nodes.length === 2);
  await cluster.visible(agent);
  const [web, raw] = agent.tunnels.map(({ publicUrl }) => new URL(publicUrl ?? ''));
  const host = web?.hostname ?? '';
  agent.on('status', ({ status }) => statuses.push(status));

  let beganMs = 0;
  const finishing: (() => void)[] = [];
  const outcomes: Promise<Outcome>[] = [];
  const watch = (name: string, text: Promise<string>): void => {
    outcomes.push(text.then((got) => ({ name, ms: performance.now() - beganMs, text: got })));
  };
  const whole = (socket: Socket, end: RegExp): Promise<string> => {
    let text = '';
    return new Promise((resolve) => {
      socket.on('error', () => {}).once('close', () => resolve(`${text} closed`));
      socket.on('data', (chunk: Buffer) => {
        text += chunk.toString('latin1');
        if (end.test(text)) resolve(text);
      });
    });
  };
  const upload = (name: string, path: string, socket: Socket): void => {
    socket.write(`POST ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 10\r\n\r\nhello`);
    watch(name, whole(socket, /whole/));
    finishing.push(() => socket.write('world'));
  };
  upload('an upload', '/upload', await leaving.connect(host));
  const session = await leaving.http2(host);
  const posted = session.request({ ':method': 'POST', ':path': '/upload2' }, { endStream: false });
  posted.write('hello');
  watch('an upload over HTTP/2', whole(posted as unknown as Socket, /whole/));
  finishing.push(() => posted.end('world'));
  const download = await leaving.connect(host);
  download.write(`GET /download HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  watch('a download', whole(download, /ended/));
  finishing.push(() => responses[0]?.end('ended'));
  const tcp = connectTcp({ host: leaving.address, port: Number(raw?.port) });
  upload('a TCP connection', '/tcp', tcp);
  const events = await leaving.connect(host);
  events.write(`GET /events HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  watch('an event stream', whole(events, /never/));
  const events2 = session.request({ ':path': '/events2' });
  watch('an event stream over HTTP/2', whole(events2 as unknown as Socket, /never/));
  for (const [name, socket] of [
    ['a WebSocket', await openWebSocket(await leaving.connect(host), host)],
    ['a WebSocket over HTTP/2', await openWebSocketOverHttp2(await leaving.http2(host), host)],
  ] as const) {
    assert.ok(await socket.echoes('a'));
    let last: Buffer = Buffer.alloc(0);
    socket.stream.on('data', (chunk: Buffer) => {
      last = chunk;
    });
    watch(
      name,
      once(socket.stream, 'close').then(() => last.toString('hex')),
    );
  }
  await until('the service has all', () =>
    ['/upload ', '/upload2 ', '/download ', '/tcp ', '/events ', '/events2 '].every((path) =>
      upstream.bytes.includes(path),
    ),
  );
  const load = new RollingLoad({ cluster, host, workers: 2, pauseMs: 20 }).start();
  t.after(() => load.stop());
  await load.more(10);

  beganMs = performance.now();
  const exited = leaving.kill('SIGTERM');
  await sleep(ENDS_AFTER_MS);
  for (const finish of finishing) finish();
  assert.deepEqual(await exited, { code: 0, signal: null });
  const exitedMs = Math.round(performance.now() - beganMs);
  const ended = await Promise.all(outcomes);
  await load.more(10);
  await load.stop();
  assert.deepEqual(load.failures, []);
  assert.deepEqual(statuses, [], 'the agent was never offline');
  const lines: string[] = [];
  for (const { name, ms, text } of ended) {
    lines.push(`${name}: ${Math.round(ms)} ms`);
    if (/upload|TCP/.test(name)) assert.match(text, /whole/, name);
    else if (/download/.test(name)) assert.match(text, /ended/, name);
    else {
      assert.ok(ms >= SHUTDOWN_SECONDS * 1000, `${name} was cut after ${ms} ms`);
      if (/WebSocket/.test(name)) assert.match(text, /880203e9$/, name);
    }
  }
  return [...lines, `exit after ${exitedMs} ms, ${load.answered} answered meanwhile`];
}
