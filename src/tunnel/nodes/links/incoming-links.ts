import { constants } from 'node:crypto';
import { createServer as createTcpServer, type Server, type Socket } from 'node:net';
import {
  createSecureContext,
  createServer,
  type SecureContext,
  type SecureContextOptions,
  type TLSSocket,
} from 'node:tls';
import { until } from '../../../kit/async/waiting.ts';
import {
  closing,
  ignoreErrors,
  type ListenerOwner,
  listen,
  listenPer,
  reportBug,
  reporting,
} from '../../../kit/guarded-listeners.ts';
import { Handshakes } from '../../../kit/net/arriving-clients.ts';
import type { RepeatedWarnings } from '../../../kit/repeated-warnings.ts';
import { certifiedNode } from '../../../proxy/pki/certified-node.ts';
import type { NodeCertificate, PeerAuthority } from '../../../proxy/pki/peer-authority.ts';
import type { Membership } from '../membership/membership.ts';
import { IncomingLink, type Served } from './incoming-link.ts';
import { MAX_CONNECTIONS_PER_PEER, MAX_PEERS, PEER_ALPN } from './peer-links.ts';

interface IncomingLinksOptions {
  readonly membership: Membership;
  readAgain(): Promise<void>;
  /** Connections that were rejected. */
  readonly rejections: RepeatedWarnings;
}

/** A stranger with a certificate must not make this node read its store all the time. */
const READ_AGAIN_MS = 500;

/** Connections from other nodes. */
export class IncomingLinks {
  readonly #options: IncomingLinksOptions;
  readonly #served: Served;
  readonly #links = new Set<IncomingLink>();
  #reading: Promise<void> | null = null;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor(options: IncomingLinksOptions, served: Served) {
    this.#options = options;
    this.#served = served;
  }

  get size(): number {
    return this.#links.size;
  }

  /** The certificate is of our authority and names this node; the membership decides. */
  admit(socket: TLSSocket, nodeId: string, ip: string): void {
    this.#admit(socket, nodeId, ip).catch((error: unknown) => {
      socket.destroy();
      reportBug(error, { part: 'peer listener' });
    });
  }

  drop(nodeId: string): void {
    for (const link of [...this.#links]) if (link.nodeId === nodeId) link.fail();
  }

  /** Opens no new streams; waits for those in progress, up to `timeoutMs`. */
  async drain(timeoutMs: number): Promise<void> {
    this.#isClosed = true;
    for (const link of this.#links) link.drain();
    await until(() => ![...this.#links].some((link) => link.isBusy), timeoutMs);
    for (const link of [...this.#links]) link.close();
  }

  async #admit(socket: TLSSocket, nodeId: string, ip: string): Promise<void> {
    const { membership, rejections } = this.#options;
    const reject = (why: string): void => {
      socket.destroy();
      // Warnings are not counted by node: each certificate could name another node.
      rejections.warn({ ip, peer_id: nodeId, why }, why);
    };
    if (nodeId === membership.self.id) {
      reject('this node dialled itself');
      return;
    }
    if (membership.get(nodeId) === undefined) await this.#readAgain();
    if (socket.destroyed || this.#isClosed) socket.destroy();
    else if (membership.get(nodeId) === undefined) reject('the store has no such node');
    else if (this.#isFull(nodeId)) reject(`there are more than ${MAX_PEERS} nodes`);
    else this.#links.add(new IncomingLink(socket, nodeId, this.#served, (closed) => this.#links.delete(closed)));
  }

  /** Makes room by closing the node's oldest connection, which is most likely broken: a node needs only one. */
  #isFull(nodeId: string): boolean {
    const ofNode = [...this.#links].filter((link) => link.nodeId === nodeId);
    if (ofNode.length >= MAX_CONNECTIONS_PER_PEER) ofNode[0]?.fail();
    return ofNode.length === 0 && new Set([...this.#links].map((link) => link.nodeId)).size >= MAX_PEERS;
  }

  async #readAgain(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.#readAtMs >= READ_AGAIN_MS) {
      this.#readAtMs = nowMs;
      // The store may be away: then only known nodes are admitted.
      this.#reading = this.#options.readAgain().catch(() => {});
    }
    await this.#reading;
  }
}

const HANDSHAKE_TIMEOUT_MS = 5_000;
/** Strangers must not crowd nodes out: the oldest handshake is dropped. */
const MAX_HANDSHAKES = 200;

interface PeerListenerOptions {
  readonly identity: NodeIdentity;
  /** The certificate is of the authority and names the node `nodeId`. The caller decides whether it may connect. */
  readonly onConnection: (socket: TLSSocket, nodeId: string) => void;
  readonly onRejected: (fields: { readonly ip: string | null; readonly why: string }) => void;
}

/** Returns a TCP server that does not listen yet. */
export function createPeerListener({ identity, onConnection, onRejected }: PeerListenerOptions): Server {
  const server = createServer({
    ...identity.contextOptions,
    requestCert: true,
    rejectUnauthorized: true,
    ALPNProtocols: [PEER_ALPN],
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    // Every connection proves its certificate.
    secureOptions: constants.SSL_OP_NO_TICKET,
  });
  identity.onRenewed = () =>
    server.setSecureContext({ ...identity.contextOptions, secureOptions: constants.SSL_OP_NO_TICKET });
  const handshakes = new Handshakes(MAX_HANDSHAKES);
  const ownerOf = (socket: Socket): ListenerOwner => closing(socket, 'peer listener');
  listenPer(server, 'secureConnection', ownerOf, (socket: TLSSocket) => {
    const ip = handshakes.ended(socket);
    ignoreErrors(socket);
    const nodeId = certifiedNode(socket.getPeerX509Certificate() ?? { subjectAltName: undefined });
    if (ip !== null && socket.authorized && socket.alpnProtocol === PEER_ALPN && nodeId !== null) {
      onConnection(socket, nodeId);
      return;
    }
    socket.destroy();
    onRejected({ ip, why: nodeId === null ? 'the certificate names no node' : 'it does not speak the peer protocol' });
  });
  listen(server, 'tlsClientError', reporting('peer listener'), (error: Error, socket: TLSSocket) => {
    onRejected({ ip: handshakes.ended(socket), why: error.message });
    socket.destroy();
  });
  const listener = createTcpServer();
  listenPer(listener, 'connection', ownerOf, (socket: Socket) => {
    ignoreErrors(socket);
    handshakes.began(socket);
    server.emit('connection', socket);
  });
  return listener;
}

const CHECK_EVERY_MS = 600_000;
const RENEW_BEFORE_MS = 24 * 60 * 60 * 1000;

interface NodeIdentityOptions {
  readonly authority: PeerAuthority;
  readonly nodeId: string;
  readonly nowMs: () => number;
  readonly onProblem: (error: unknown) => void;
}

/** This node's certificate, in memory only. It is renewed long before it ends. Open connections keep the former one. */
export class NodeIdentity {
  readonly #options: NodeIdentityOptions;
  readonly #timer: NodeJS.Timeout;
  #certificate: NodeCertificate;
  #context: SecureContext;
  #onRenewed: (() => void) | null = null;

  private constructor(options: NodeIdentityOptions, certificate: NodeCertificate) {
    this.#options = options;
    this.#certificate = certificate;
    this.#context = createSecureContext(this.contextOptions);
    this.#timer = setInterval(() => {
      this.renew().catch(options.onProblem);
    }, CHECK_EVERY_MS).unref();
  }

  static async open(options: NodeIdentityOptions): Promise<NodeIdentity> {
    return new NodeIdentity(options, await options.authority.mint(options.nodeId, options.nowMs()));
  }

  get context(): SecureContext {
    return this.#context;
  }

  get contextOptions(): SecureContextOptions {
    const { certificatePem: cert, privateKeyPem: key } = this.#certificate;
    return { cert, key, ca: this.#options.authority.caPem, minVersion: 'TLSv1.3', maxVersion: 'TLSv1.3' };
  }

  set onRenewed(listener: () => void) {
    this.#onRenewed = listener;
  }

  async renew(): Promise<void> {
    const { authority, nodeId, nowMs } = this.#options;
    if (this.#certificate.notAfterMs - nowMs() > RENEW_BEFORE_MS) return;
    this.#certificate = await authority.mint(nodeId, nowMs());
    this.#context = createSecureContext(this.contextOptions);
    this.#onRenewed?.();
  }

  close(): void {
    clearInterval(this.#timer);
  }
}
