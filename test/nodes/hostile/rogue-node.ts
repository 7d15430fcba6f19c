import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  type ClientHttp2Session,
  connect,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { connect as connectTls, createServer, type Server, type TLSSocket } from 'node:tls';
import type { JsonObject } from '../../../src/kit/json.ts';
import { openPeerAuthority } from '../../../src/proxy/pki/peer-authority.ts';
import { PEER_AUTHORITY_KIND, storedAuthorities } from '../../../src/proxy/pki/server-internal-ca.ts';
import { Replica } from '../../../src/store/replica/replica.ts';
import type { Store } from '../../../src/store/store.ts';
import type { Cleanup } from '../../support/cleanup.ts';

const ALPN = 'postern-peer/1';
const LEASE_MS = 5_000;

interface PeerCertificate {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

interface RogueOptions {
  /** False: the store does not list it. */
  readonly isMember?: boolean;
  /** Lines of its directory feed. */
  readonly lines?: (id: string) => readonly string[];
}

export interface RogueAnswer {
  readonly status: number;
  readonly text: string;
  /** Code of the reset, 0 when there was none. */
  readonly reset: number;
}

/**
 * A program with the database and its secret key that is no Postern: it registers as a node with a certificate of the
 * real authority, and sends on its connections what the test wants.
 */
export class RogueNode {
  readonly id: string;
  /** Lines of its directory feed, for every node that follows it. */
  #lines: readonly string[] = [];
  /** Feeds that nodes have opened. */
  feeds = 0;
  readonly #certificate: PeerCertificate;
  readonly #sessions = new Set<ServerHttp2Session | ClientHttp2Session>();

  private constructor(id: string, certificate: PeerCertificate) {
    this.id = id;
    this.#certificate = certificate;
  }

  static async open(test: Cleanup, store: Store, options: RogueOptions = {}): Promise<RogueNode> {
    const replica = await Replica.open(store);
    const records = storedAuthorities(store, replica, PEER_AUTHORITY_KIND);
    const authority = await openPeerAuthority(records, { info: () => {} }, Date.now());
    const id = `nd_${randomBytes(14).toString('hex')}`;
    const { certificatePem: cert, privateKeyPem: key } = await authority.mint(id, Date.now());
    const rogue = new RogueNode(id, { cert, key, ca: authority.caPem });
    const server = await rogue.#listen(test);
    rogue.#lines = options.lines?.(id) ?? [];
    if (options.isMember === false) return rogue;
    const { port } = server.address() as AddressInfo;
    const [honest] = (await store.nodes.list()).nodes;
    const doc: JsonObject = { ...honest?.doc, name: 'rogue', peer_address: `127.0.0.1:${port}` };
    const row = { id, status: 'ready' as const, startedAtMs: Date.now(), doc };
    await store.nodes.heartbeat(row, LEASE_MS);
    // The rogue node agrees about nothing in particular, and is listed from now on.
    await store.nodes.agree(id, {});
    const timer = setInterval(() => void store.nodes.heartbeat(row, LEASE_MS).catch(() => {}), 1000);
    test.after(async () => {
      clearInterval(timer);
      await store.nodes.leave(id).catch(() => {});
    });
    return rogue;
  }

  /** A connection to a node. */
  async dial(test: Cleanup, peerAddress: string): Promise<ClientHttp2Session> {
    const [host = '', port] = peerAddress.split(':');
    const options = { ...this.#certificate, ALPNProtocols: [ALPN], checkServerIdentity: () => undefined };
    const socket = connectTls({ host, port: Number(port), ...options });
    socket.on('error', () => {});
    test.after(async () => void socket.destroy());
    await once(socket, 'secureConnect');
    const session = connect('https://node', { createConnection: () => socket });
    session.on('error', () => {});
    this.#sessions.add(session);
    return session;
  }

  #accept(socket: TLSSocket): void {
    const session = performServerHandshake(socket, {});
    this.#sessions.add(session);
    session.on('error', () => {});
    session.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
      stream.on('error', () => {});
      if (headers[':path'] === '/channel/1') {
        stream.respond({ ':status': 200 });
        stream.resume();
        return;
      }
      if (headers[':path'] !== '/feed/directory') {
        stream.respond({ ':status': 404 }, { endStream: true });
        stream.resume();
        return;
      }
      this.feeds += 1;
      stream.respond({ ':status': 200 });
      stream.write(this.#lines.map((line) => `${line}\n`).join(''));
    });
  }

  async #listen(test: Cleanup): Promise<Server> {
    const server = createServer({ ...this.#certificate, requestCert: true, ALPNProtocols: [ALPN] }, (socket) => {
      socket.on('error', () => {});
      this.#accept(socket);
    });
    server.on('tlsClientError', () => {});
    await once(server.listen(0, '127.0.0.1'), 'listening');
    test.after(async () => {
      for (const session of this.#sessions) session.destroy();
      server.close();
    });
    return server;
  }
}

/** One stream, and what comes back. */
export function ask(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  body?: string | Buffer,
): Promise<RogueAnswer> {
  return new Promise((resolve) => {
    const stream = session.request({ ':authority': 'node', ...headers }, { endStream: body === undefined });
    let status = 0;
    let text = '';
    stream.on('response', (answer) => {
      status = answer[':status'] ?? 0;
    });
    stream.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    stream.on('error', () => {});
    stream.on('close', () => resolve({ status, text, reset: stream.rstCode ?? 0 }));
    if (body !== undefined) stream.end(body);
  });
}
