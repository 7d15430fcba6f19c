import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import {
  createSecureServer,
  type Http2SecureServer,
  type SecureServerOptions,
  type ServerHttp2Session,
} from 'node:http2';
import { createServer, type Server as HttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import { type KeyAndCertificate, makeCertificate } from '../conformance/certificates.ts';

let made: Promise<KeyAndCertificate> | null = null;

/**
 * A self-signed certificate for `backend.test`: a client that trusts it trusts nothing else. Async, so that no file
 * awaits a promise of an earlier one, which would take its `after` hooks.
 */
export async function backendCertificate(): Promise<KeyAndCertificate> {
  made ??= makeCertificate({ commonName: 'backend.test', dnsNames: ['backend.test'] });
  return made;
}

export interface TlsServer<Server> extends AsyncDisposable {
  readonly server: Server;
  readonly port: number;
  readonly sessions: readonly ServerHttp2Session[];
  accepted(): number;
}

export async function http2Server(options: SecureServerOptions = {}): Promise<TlsServer<Http2SecureServer>> {
  const { certificatePem, keyPem } = await backendCertificate();
  return listening(createSecureServer({ cert: certificatePem, key: keyPem, ...options }));
}

export async function httpsServer(handle: RequestListener): Promise<TlsServer<HttpsServer>> {
  const { certificatePem, keyPem } = await backendCertificate();
  return listening(createServer({ cert: certificatePem, key: keyPem }, handle));
}

async function listening<Server extends Http2SecureServer | HttpsServer>(server: Server): Promise<TlsServer<Server>> {
  const sockets = new Set<Socket>();
  const sessions: ServerHttp2Session[] = [];
  let accepted = 0;
  const emitter: Http2SecureServer | HttpsServer = server;
  emitter.on('connection', (socket: Socket) => {
    accepted += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => {});
  });
  emitter.on('session', (session: ServerHttp2Session) => sessions.push(session.on('error', () => {})));
  emitter.on('tlsClientError', () => {});
  emitter.listen(0, '127.0.0.1');
  await once(emitter, 'listening');
  const address = emitter.address();
  assert.ok(address !== null && typeof address === 'object');
  return {
    server,
    sessions,
    port: address.port,
    accepted: () => accepted,
    [Symbol.asyncDispose]: async () => {
      emitter.close();
      for (const session of sessions) session.destroy();
      for (const socket of sockets) socket.destroy();
      await once(emitter, 'close');
    },
  };
}
