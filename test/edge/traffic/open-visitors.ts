import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:https';
import { connect as connectTcp, type Socket } from 'node:net';
import type { Cleanup } from '../../support/cleanup.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { type RecordingUpstream, recordingUpstream } from './recording-upstream.ts';
import { echoingWebSockets, openWebSocket, openWebSocketOverHttp2 } from './web-socket.ts';

/** Visitors of every kind that may be silent for hours: nothing is sent to them, and they send nothing. */
export interface OpenVisitors {
  readonly world: TunnelWorld;
  readonly upstream: RecordingUpstream;
  /** Sockets of the visitors, by kind. */
  readonly sockets: ReadonlyMap<string, Socket>;
}

/** `localAddress`: where the visitors are. */
export async function openVisitors(test: Cleanup, localAddress = '127.0.0.1'): Promise<OpenVisitors> {
  const sockets = new Map<string, Socket>();
  // First: nothing else ends a connection whose other end is gone.
  test.after(async () => {
    for (const socket of sockets.values()) socket.destroy();
  });
  const upstream = await recordingUpstream(test);
  echoingWebSockets(upstream);
  upstream.answer = (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: first\n\n');
  };
  const world = await TunnelWorld.open(test);
  const { edge } = world;
  const { host } = await edge.site(await edge.staticBackend(upstream.address));
  const events = request({ agent: false, ...edge.tlsOptions(host), localAddress, headers: { host } }).end();
  const [response] = await once(events, 'response');
  await once(response, 'data');
  response.on('error', () => {});
  sockets.set('an event stream over HTTP/1.1', events.socket as Socket);

  // The types of TLS and HTTP/2 lack it.
  const from: object = { localAddress };
  const session = await edge.http2(host, from);
  const stream = session.request({ ':path': '/' });
  await once(
    stream.on('error', () => {}),
    'data',
  );
  sockets.set('an event stream over HTTP/2', session.socket as Socket);

  const webSocket = await openWebSocket(await edge.connect(host, from), host);
  assert.ok(await webSocket.echoes('a'));
  sockets.set('a WebSocket over HTTP/1.1', webSocket.stream as Socket);

  const shared = await edge.http2(host, from);
  assert.ok(await (await openWebSocketOverHttp2(shared, host)).echoes('a'));
  sockets.set('a WebSocket over HTTP/2', shared.socket as Socket);

  const agent = await world.agent([{ proto: 'tcp', addr: upstream.address }]);
  const tcp = connectTcp({ host: '127.0.0.1', port: Number(new URL(agent.publicUrl ?? '').port), localAddress });
  tcp.on('error', () => {}).write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  await once(tcp, 'data');
  sockets.set('a connection to a TCP tunnel', tcp);
  return { world, upstream, sockets };
}
