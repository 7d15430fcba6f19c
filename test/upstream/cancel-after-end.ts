import { once } from 'node:events';
import { connect } from 'node:http2';
import { type AddressInfo, createServer } from 'node:net';
import { cancelStream } from '../../src/kit/http2/stream-end.ts';
import { FLAG, FRAME, frame, SETTINGS, SETTINGS_ACK, STATUS_200 } from '../support/http2-frames.ts';

/** Runs as its own process, because an unpatched runtime aborts. */
const HEAD = frame(FRAME.headers, FLAG.endHeaders, 1, STATUS_200);
const ANSWER = Buffer.concat([
  SETTINGS,
  SETTINGS_ACK,
  HEAD,
  frame(FRAME.data, 0, 1, 'x'),
  frame(FRAME.data, FLAG.endStream, 1, 'x'),
]);
const server = createServer((socket) => {
  socket.on('error', () => {});
  // By then the request has arrived too.
  socket.once('data', () => setTimeout(() => socket.write(ANSWER), 50));
});
await once(server.listen(0, '127.0.0.1'), 'listening');
const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
session.on('error', () => {});
await once(session, 'connect');
const stream = session.request({ ':method': 'PUT' }, { endStream: false, waitForTrailers: true });
stream.on('error', () => {});
stream.on('wantTrailers', () => stream.sendTrailers({}));
stream.write('body');
stream.once('data', () => {
  stream.end();
  cancelStream(stream);
});
// Deferred: the runtime aborts when it sends pending data, at the end of the event.
stream.once('close', () => setTimeout(() => process.exit(0), 50));
