import Type from 'typebox';
import { Compile } from 'typebox/compile';
import { type PeerLinks, type PeerMessage, PeerRefusal, PeerUnreachable } from './peer-links.ts';
import { CALL_TIMEOUT_MS } from './peer-protocol.ts';

const RELAY = 'node.relay';
const RELAYED = 'node.relayed';
/** Methods that a node may call in the name of another node. */
const RELAYABLE = /^session\.[a-z]{1,32}$/;
/** Answer of the node in between: the caller may try another node. */
const NO_WAY = 'no_way';

const id = Type.String({ minLength: 1, maxLength: 64 });
const method = Type.String({ pattern: RELAYABLE.source });
const message = Type.Record(Type.String(), Type.Unknown());
const relay = Compile(
  Type.Object({ to: id, method, message, timeout_ms: Type.Number({ minimum: 1, maximum: CALL_TIMEOUT_MS }) }),
);
const relayed = Compile(Type.Object({ from: id, method, message }));

interface RelayedCallsParts {
  readonly links: Pick<PeerLinks, 'get' | 'all' | 'call' | 'serve'>;
  readonly ownNodeId: string;
  /** Whether the store has this node. */
  isNode(nodeId: string): boolean;
  carryOut(method: string, message: PeerMessage, fromNodeId: string): Promise<PeerMessage>;
}

/**
 * Calls to a node that this node has no link to, over a third node. Two nodes that cannot reach each other still agree
 * about sessions of agents that are connected to both. Streams are never relayed.
 */
export class RelayedCalls {
  readonly #parts: RelayedCallsParts;

  constructor(parts: RelayedCallsParts) {
    this.#parts = parts;
    parts.links.serve(RELAY, (request, fromNodeId) => this.#passOn(request, fromNodeId));
    parts.links.serve(RELAYED, (request, viaNodeId) => this.#carryOut(request, viaNodeId));
  }

  /** Tries the linked nodes in turn. Rejects with PeerRefusal or PeerUnreachable. */
  async call(nodeId: string, name: string, body: PeerMessage, timeoutMs: number): Promise<PeerMessage> {
    const { links } = this.#parts;
    const endsAtMs = performance.now() + timeoutMs;
    const request = { v: 1, to: nodeId, method: name, message: body };
    for (const { nodeId: via } of [...links.all()]) {
      const leftMs = Math.min(endsAtMs - performance.now(), CALL_TIMEOUT_MS);
      if (leftMs < 1) break;
      if (via === nodeId) continue;
      try {
        return await links.call(via, RELAY, { ...request, timeout_ms: leftMs }, leftMs);
      } catch (error) {
        if (!isNoWay(error)) throw error;
      }
    }
    throw new PeerUnreachable(`${name} on ${nodeId}: no other node has a way to it`);
  }

  async #passOn(request: PeerMessage, fromNodeId: string): Promise<PeerMessage> {
    if (!relay.Check(request)) throw malformed();
    const { to, timeout_ms: timeoutMs } = request;
    if (this.#parts.links.get(to) === undefined) throw new PeerRefusal(NO_WAY, 'this node has no link to it');
    const passed = { v: 1, from: fromNodeId, method: request.method, message: request.message as PeerMessage };
    try {
      return await this.#parts.links.call(to, RELAYED, passed, timeoutMs);
    } catch (error) {
      if (error instanceof PeerUnreachable) throw new PeerRefusal(NO_WAY, error.message);
      throw error;
    }
  }

  #carryOut(request: PeerMessage, viaNodeId: string): Promise<PeerMessage> {
    const parts = this.#parts;
    if (!relayed.Check(request)) throw malformed();
    const { from } = request;
    if (from === parts.ownNodeId || from === viaNodeId || !parts.isNode(from)) {
      throw new PeerRefusal('unknown_node', 'the call is in the name of a node that does not exist');
    }
    return parts.carryOut(request.method, request.message as PeerMessage, from);
  }
}

function isNoWay(error: unknown): boolean {
  return error instanceof PeerUnreachable || (error instanceof PeerRefusal && error.code === NO_WAY);
}

function malformed(): PeerRefusal {
  return new PeerRefusal('malformed', 'a relayed call has a wrong or missing field');
}
