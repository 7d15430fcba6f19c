import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { createSecureServer, type Http2SecureServer, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Issued } from '../../edge/tls/test-authority.ts';
import type { Cleanup } from '../cleanup.ts';

export interface WebSocketUpstream {
  readonly address: string;
  readonly sockets: readonly WebSocket[];
  /** Versions of the plain requests received. */
  readonly versions: readonly string[];
}

/** Echoes what it receives; uses the subprotocol `second` when it is offered. */
export async function webSocketUpstream(test: Cleanup, certificate: Issued | null = null): Promise<WebSocketUpstream> {
  const server: Server | Http2SecureServer =
    certificate === null
      ? createServer()
      : createSecureServer({ cert: certificate.certificatePem, key: certificate.keyPem, allowHTTP1: true });
  const sockets: WebSocket[] = [];
  const versions: string[] = [];
  const connections = new Set<Socket>();
  const sessions = new Set<ServerHttp2Session>();
  const webSockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: { threshold: 0 },
    handleProtocols: (offered) => (offered.has('second') ? 'second' : false),
  });
  const emitter = server as Server;
  emitter.on('connection', (socket) => connections.add(socket.on('error', () => {})));
  emitter.on('session', (session: ServerHttp2Session) => sessions.add(session.on('error', () => {})));
  emitter.on('request', (request, response) => {
    versions.push(request.httpVersion);
    response.end('plain');
  });
  emitter.on('upgrade', (request, socket, head) => {
    webSockets.handleUpgrade(request, socket, head, (end) => {
      sockets.push(end);
      end.on('error', () => {});
      end.on('message', (data, isBinary) => end.send(data, { binary: isBinary }));
    });
  });
  await once(emitter.listen(0, '127.0.0.1'), 'listening');
  test.after(async () => {
    for (const end of sockets) end.terminate();
    for (const session of sessions) session.destroy();
    for (const socket of connections) socket.destroy();
    await new Promise((resolve) => emitter.close(resolve));
  });
  const name = certificate === null ? '127.0.0.1' : 'localhost';
  return { address: `${name}:${(emitter.address() as AddressInfo).port}`, sockets, versions };
}
