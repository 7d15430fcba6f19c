import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttp } from 'node:http';
import { createServer as createHttp2, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import type { TlsPolicy } from '../../../src/modules/contract/decides.ts';
import { AcmeChallenges } from '../../../src/proxy/edge/tls/acme-challenges.ts';
import {
  type CertificateRecord,
  type CertificateRecordChange,
  type CertificateStore,
  createCertificateStore,
} from '../../../src/proxy/edge/tls/certificate-store.ts';
import type { SharedSecret } from '../../../src/proxy/edge/tls/host-servers.ts';
import { TlsFront } from '../../../src/proxy/edge/tls/tls-front.ts';
import type { EdgeConnection, TlsLimits } from '../../../src/proxy/edge/tls/tls-ports.ts';
import type { EdgeSnapshot } from '../../../src/proxy/snapshot/edge-snapshot.ts';
import { HostTable } from '../../../src/proxy/snapshot/host-table.ts';
import { RouteTable } from '../../../src/proxy/snapshot/route-table.ts';
import { type InternalCa, openInternalCa } from '../../support/internal-ca.ts';
import { tempDir } from '../../support/temp-dir.ts';

export interface TlsWorld {
  readonly port: number;
  readonly ca: InternalCa;
  readonly front: TlsFront;
  readonly certificates: CertificateStore;
  /** Called before the internal CA issues a certificate, which then waits. */
  beforeMint: (host: string) => Promise<void> | void;
  /** ACME challenges answered. */
  challengesAnswered: number;
  readonly clock: { offsetMs: number; nowMs(): number };
  readonly connections: EdgeConnection[];
  readonly failures: string[];
  readonly handshakes: { readonly version: string; readonly isResumed: boolean }[];
  setEdge(host: string, tls?: TlsPolicy): void;
  removeEdge(host: string): void;
  change(...changes: CertificateRecordChange[]): void;
  /** A node:tls connection that trusts the internal CA. */
  connect(host: string, options?: ConnectionOptions): TLSSocket;
  /** Waits until this many handshakes have failed. */
  failed(count: number): Promise<readonly string[]>;
}

let generation = 0;

/** The TLS front on a real port, with handmade edges and a handler without upstream that reports the requested host. */
export async function openTlsWorld(
  test: TestContext,
  limits: Partial<TlsLimits> = {},
  ticketSecret?: SharedSecret,
  sharedCa?: InternalCa,
): Promise<TlsWorld> {
  const clock = { offsetMs: 0, nowMs: () => Date.now() + clock.offsetMs };
  const ca = sharedCa ?? (await openInternalCa({ dataDir: await tempDir(test), domain: 'localhost', clock }));
  const hosts = new HostTable<EdgeSnapshot>();
  const records = recordsPort();
  const certificates = createCertificateStore({
    records,
    ca: {
      mintLeaf: async (request) => {
        await world.beforeMint(request.hosts[0] ?? '');
        return ca.mintLeaf(request);
      },
    },
    clock,
    onProblem: () => {},
  });
  const connections: EdgeConnection[] = [];
  const failures: string[] = [];
  const handshakes: { readonly version: string; readonly isResumed: boolean }[] = [];
  const http1 = createHttp((request, response) => response.end(`h1 ${request.headers.host}`));
  const http2 = createHttp2();
  http2.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    stream.on('error', () => {});
    stream.respond({ ':status': 200 });
    stream.end(`h2 ${headers[':authority']}`);
  });
  const front = new TlsFront({
    snapshots: hosts,
    certificates,
    challenges: new AcmeChallenges({ records, clock }),
    limits,
    ticketSecret,
    clock,
    log: { debug: () => {}, error: () => {} },
    metrics: {
      handshakeFailed: (reason) => failures.push(reason),
      challengeAnswered: () => {
        world.challengesAnswered += 1;
      },
      clientCertificateUnchecked: () => {},
    },
    onConnection: (connection) => {
      connections.push(connection);
      const { socket } = connection;
      handshakes.push({ version: socket.getProtocol() ?? 'unknown', isResumed: socket.isSessionReused() });
      (connection.protocol === 'h2' ? http2 : http1).emit('connection', connection.socket);
    },
  });
  const sockets = new Set<Socket>();
  const listener = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    front.accept(socket);
  });
  await once(listener.listen(0, '127.0.0.1'), 'listening');
  const { port } = listener.address() as AddressInfo;
  const clients = new Set<TLSSocket>();
  test.after(async () => {
    for (const client of clients) client.destroy();
    front.close();
    for (const socket of sockets) socket.destroy();
    http1.closeAllConnections();
    certificates.close();
    await new Promise((resolve) => listener.close(resolve));
  });
  const world: TlsWorld = {
    port,
    ca,
    beforeMint: () => {},
    challengesAnswered: 0,
    front,
    certificates,
    clock,
    connections,
    failures,
    handshakes,
    setEdge: (host, tls = {}) => {
      generation += 1;
      const edge = {
        id: `edge_${host}`,
        hosts: [host],
        tls,
        tlsGeneration: `${generation}`,
        problem: null,
        problems: [],
      };
      hosts.set(host, { ...edge, routes: new RouteTable([]), ownPathRoutes: [] });
    },
    removeEdge: (host) => hosts.delete(host),
    change: (...changes) => records.tell(changes),
    connect: (host, options = {}) => {
      const client = connect({
        host: '127.0.0.1',
        port,
        servername: host,
        ca: [ca.domainCaPem, ca.otherCaPem],
        ...options,
      });
      clients.add(client);
      client.once('close', () => clients.delete(client));
      client.on('error', () => {});
      return client;
    },
    failed: async (count) => {
      await until(() => failures.length >= count);
      return failures;
    },
  };
  return world;
}

function recordsPort() {
  const records = new Map<string, CertificateRecord>();
  const listeners = new Set<(changes: readonly CertificateRecordChange[]) => void>();
  return {
    all: (kind: string) => [...records.values()].filter((record) => record.kind === kind),
    onChange: (listener: (changes: readonly CertificateRecordChange[]) => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    tell: (changes: readonly CertificateRecordChange[]) => {
      for (const change of changes) {
        if (change.op === 'put') records.set(change.record.id, change.record);
        else records.delete(change.key.id);
      }
      for (const listener of listeners) listener(changes);
    },
  };
}

export async function until(isSo: () => boolean): Promise<void> {
  const end = Date.now() + 30_000;
  while (!isSo()) {
    assert.ok(Date.now() < end, `not in time: ${isSo.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** What the client saw: the bytes of one response, or none, and how it ended. */
export async function exchange(client: TLSSocket, host: string): Promise<{ answer: string; error: string | null }> {
  let answer = '';
  let error: string | null = null;
  client.on('error', (failure: NodeJS.ErrnoException) => {
    error = `${failure.code} ${failure.message}`;
  });
  client.on('data', (chunk: Buffer) => {
    answer += chunk.toString('latin1');
  });
  client.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  await new Promise((resolve) => client.once('close', resolve));
  return { answer, error };
}
