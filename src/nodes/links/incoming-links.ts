import type { TLSSocket } from 'node:tls';
import { until } from '../../lib/async/until.ts';
import { reportBug } from '../../lib/bug-report.ts';
import type { RepeatedWarnings } from '../../lib/repeated-warnings.ts';
import type { Membership } from '../membership/membership.ts';
import { IncomingLink, type Served } from './incoming-link.ts';
import { MAX_CONNECTIONS_PER_PEER, MAX_PEERS } from './peer-protocol.ts';

export interface IncomingLinksOptions {
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
