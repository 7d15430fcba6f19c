import { once } from 'node:events';
import type { ClientHttp2Stream } from 'node:http2';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { AgentConnection } from '../../../src/tunnel/gateway/agent-connection.ts';
import { OutgoingLink } from '../../../src/tunnel/nodes/links/outgoing-link.ts';
import { FLAG, FRAME, frame, resetFrame, STATUS_200 } from '../../support/http2-frames.ts';
import { RawHttp2 } from '../../support/raw-http2.ts';

/**
 * Runs as its own process, because an unpatched runtime aborts. A peer answers the first stream of its session, says
 * something that makes the session open a request, and resets the stream, all in one write.
 */
const ROUNDS = 5;
const REQUEST = [':method', 'POST', ':scheme', 'https', ':authority', 'a.test', ':path', '/'];

interface Requesting {
  request(headers: readonly string[], options: { endStream: boolean; waitForTrailers: boolean }): ClientHttp2Stream;
}

let requests = 0;

function askSomething(from: Requesting): void {
  requests += 1;
  const stream = from.request(REQUEST, { endStream: false, waitForTrailers: true });
  stream.on('error', () => {});
  stream.write('the start of a body');
}

function asAgent(socket: TLSSocket): Promise<void> {
  return new Promise((resolve) => {
    new AgentConnection(socket, { onMessage: askSomething, onClosed: () => resolve() }, '127.0.0.1');
  });
}

function asNode(socket: TLSSocket): Promise<void> {
  return new Promise((resolve) => {
    new OutgoingLink(socket, { id: 'nd_1', name: 'other' }, { onUp: askSomething, onDown: () => {} });
    socket.once('close', () => resolve());
  });
}

/** Holds everything back until the first stream is open and pinged, then sends it together with the reset. */
function answerAndReset(socket: Socket, message: Buffer): void {
  const raw = new RawHttp2(socket, 'server');
  const send = raw.send.bind(raw);
  const held: Buffer[] = [];
  raw.send = (...parts) => void held.push(...parts);
  raw.onFrame = () => {
    if (!raw.frames.some(({ type }) => type === FRAME.headers)) return;
    raw.onFrame = () => {};
    // The rest of what arrived with it is read first.
    setTimeout(() => {
      const accept = frame(FRAME.headers, FLAG.endHeaders, 1, STATUS_200);
      send(accept, message, ...held, resetFrame(1, 8));
      raw.send = send;
    }, 20);
  };
}

const cases = [
  { serve: asAgent, message: frame(FRAME.data, 0, 1, '{"t":"bye"}\n') },
  // The answer to its ping makes it open a request.
  { serve: asNode, message: Buffer.alloc(0) },
];
for (const { serve, message } of cases) {
  const peer = createServer((socket) =>
    answerAndReset(
      socket.on('error', () => {}),
      message,
    ),
  );
  peer.listen(0, '127.0.0.1');
  await once(peer, 'listening');
  for (let round = 0; round < ROUNDS; round += 1) {
    const socket = connect((peer.address() as AddressInfo).port, '127.0.0.1');
    await once(socket, 'connect');
    // Neither end needs TLS here.
    await serve(socket as TLSSocket);
  }
}
console.log(`survived ${requests} requests`);
process.exit(requests === cases.length * ROUNDS ? 0 : 1);
