import { once } from 'node:events';
import { createSecureServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { Cleanup } from '../../../support/cleanup.ts';
import type { Issued } from '../../tls/test-authority.ts';

export interface Http2Upstream {
  readonly address: string;
  /** Connections ever made. */
  accepted: number;
  /** Sessions that this side ended because of the peer's frames. */
  readonly errors: string[];
  /** Streams that were reset, on the session with most of them. */
  mostResets: number;
  open: number;
}

/** HTTP/2 with the runtime's defaults. `/slow` never ends, everything else is `ok`. */
export async function http2Upstream(test: Cleanup, { certificatePem, keyPem }: Issued): Promise<Http2Upstream> {
  const server = createSecureServer({ cert: certificatePem, key: keyPem });
  const upstream: Http2Upstream = { address: '', accepted: 0, errors: [], mostResets: 0, open: 0 };
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    upstream.accepted += 1;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket)).on('error', () => {});
  });
  server.on('session', (session) => {
    let resets = 0;
    session.on('error', (error: Error) => upstream.errors.push(error.message));
    session.on('stream', (stream: ServerHttp2Stream, headers) => {
      upstream.open += 1;
      stream.on('error', () => {});
      stream.once('close', () => {
        upstream.open -= 1;
        if (stream.rstCode !== 0) resets += 1;
        upstream.mostResets = Math.max(upstream.mostResets, resets);
      });
      stream.respond({ ':status': 200 });
      if (headers[':path'] === '/slow') stream.write('the beginning');
      else stream.end('ok');
    });
  });
  server.on('sessionError', () => {});
  await once(server.listen(0, '127.0.0.1'), 'listening');
  test.after(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return Object.assign(upstream, { address: `localhost:${(server.address() as AddressInfo).port}` });
}
