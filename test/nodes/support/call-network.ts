import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import {
  type PeerCallHandler,
  type PeerLink,
  type PeerLinks,
  type PeerMessage,
  PeerRefusal,
  PeerUnreachable,
} from '../../../src/tunnel/nodes/links/peer-links.ts';
import { fakeLink } from './fake-network.ts';

type Links = Pick<PeerLinks, 'get' | 'all' | 'call' | 'relay' | 'serve' | 'onDown'>;

/** Calls between nodes in memory. Each direction of a pair can be cut, or lose answers. */
export class CallNetwork {
  readonly #nodes = new Map<string, CallLinks>();
  readonly #cut = new Set<string>();
  /** Calls whose answer is lost although they were carried out, one per entry. */
  readonly lostAnswers: string[] = [];

  join(nodeId: string): CallLinks {
    const links = new CallLinks(this, nodeId);
    for (const other of this.#nodes.values()) {
      links.up(other.nodeId);
      other.up(nodeId);
    }
    this.#nodes.set(nodeId, links);
    return links;
  }

  isUp(from: string, to: string): boolean {
    return this.#nodes.has(to) && !this.#cut.has(`${from} ${to}`);
  }

  cut(from: string, to: string): void {
    if (this.#cut.has(`${from} ${to}`)) return;
    this.#cut.add(`${from} ${to}`);
    this.#nodes.get(from)?.down(to);
  }

  repair(from: string, to: string): void {
    if (this.#cut.delete(`${from} ${to}`)) this.#nodes.get(from)?.up(to);
  }

  /** Both directions with every other node. */
  isolate(nodeId: string): void {
    for (const other of this.#nodes.keys()) {
      if (other === nodeId) continue;
      this.cut(nodeId, other);
      this.cut(other, nodeId);
    }
  }

  rejoin(nodeId: string): void {
    for (const other of this.#nodes.keys()) {
      this.repair(nodeId, other);
      this.repair(other, nodeId);
    }
  }

  handler(nodeId: string, method: string): PeerCallHandler | undefined {
    return this.#nodes.get(nodeId)?.handlers.get(method);
  }
}

export class CallLinks implements Links {
  readonly nodeId: string;
  readonly handlers = new Map<string, PeerCallHandler>();
  readonly #network: CallNetwork;
  readonly #links = new Map<string, PeerLink>();
  readonly #downs = new Set<(link: PeerLink) => void>();

  constructor(network: CallNetwork, nodeId: string) {
    this.#network = network;
    this.nodeId = nodeId;
  }

  get(nodeId: string): PeerLink | undefined {
    return this.#links.get(nodeId);
  }

  all(): Iterable<PeerLink> {
    return this.#links.values();
  }

  onDown(listener: (link: PeerLink) => void): () => void {
    this.#downs.add(listener);
    return () => this.#downs.delete(listener);
  }

  serve(method: string, handler: PeerCallHandler): void {
    this.handlers.set(method, handler);
  }

  async call(nodeId: string, method: string, message: PeerMessage, timeoutMs = 5_000): Promise<PeerMessage> {
    const text = JSON.stringify(message);
    if (Buffer.byteLength(text) > 65_536) throw new RangeError('a call is too long');
    await nextTurn();
    if (!this.#network.isUp(this.nodeId, nodeId)) throw new PeerUnreachable('no link');
    const handler = this.#network.handler(nodeId, method);
    if (handler === undefined) throw new PeerRefusal('ERR_TEST', `no ${method}`);
    const answered = handler(JSON.parse(text) as PeerMessage, this.nodeId).then(async (answer) => {
      await nextTurn();
      if (!this.#network.isUp(this.nodeId, nodeId)) throw new PeerUnreachable('the link broke');
      const lost = this.#network.lostAnswers.indexOf(method);
      if (lost !== -1) {
        this.#network.lostAnswers.splice(lost, 1);
        throw new PeerUnreachable('the answer was lost');
      }
      return JSON.parse(JSON.stringify(answer)) as PeerMessage;
    });
    const late = sleep(timeoutMs, undefined, { ref: false }).then(() => {
      throw new PeerUnreachable('no answer in time');
    });
    return Promise.race([answered, late]);
  }

  async relay(nodeId: string, method: string, message: PeerMessage, timeoutMs: number): Promise<PeerMessage> {
    const via = [...this.#links.keys()].find((each) => each !== nodeId && this.#network.isUp(each, nodeId));
    const handler = via === undefined ? undefined : this.#network.handler(nodeId, method);
    if (handler === undefined) throw new PeerUnreachable('no way');
    const late = sleep(timeoutMs, undefined, { ref: false }).then(() => {
      throw new PeerUnreachable('no answer in time');
    });
    return Promise.race([handler(message, this.nodeId), late]);
  }

  up(nodeId: string): void {
    this.#links.set(nodeId, fakeLink(nodeId));
  }

  down(nodeId: string): void {
    const link = this.#links.get(nodeId);
    this.#links.delete(nodeId);
    if (link !== undefined) for (const listener of this.#downs) listener(link);
  }
}
