import type { ClientHttp2Stream } from 'node:http2';
import Type from 'typebox';
import { Compile } from 'typebox/compile';
import { messageOf } from '../../../kit/error-text.ts';
import { ignoreErrors, type ListenerOwner, listenOnce, reportBug } from '../../../kit/guarded-listeners.ts';
import { cancelStream, watchStreamEnd } from '../../../kit/http2/stream-end.ts';
import type { OutgoingLink } from './outgoing-link.ts';
import {
  CALL_PATH,
  CALL_TIMEOUT_MS,
  MAX_CALL_BYTES,
  NODE_AUTHORITY,
  type PeerLinks,
  type PeerMessage,
  PeerRefusal,
  PeerUnreachable,
} from './peer-links.ts';
import { gatherMessage } from './served-calls.ts';

const MAX_TEXT = 2_048;

interface CallLimits {
  readonly timeoutMs: number;
  readonly maxAnswerBytes: number;
}

/** One call as one stream. Throws when the message is too large: that is a bug of the caller. */
export function callPeer(
  link: OutgoingLink,
  method: string,
  message: PeerMessage,
  { timeoutMs, maxAnswerBytes }: CallLimits,
): Promise<PeerMessage> {
  const body = Buffer.from(JSON.stringify(message));
  if (body.length > MAX_CALL_BYTES) throw new RangeError(`the message of ${method} has ${body.length} bytes`);
  const { promise, resolve, reject } = Promise.withResolvers<PeerMessage>();
  const unreachable = (why: string): void => reject(new PeerUnreachable(`${method} on ${link.nodeName}: ${why}`));
  const stream = opened(link, method);
  if (typeof stream === 'string') {
    unreachable(stream);
    return promise;
  }
  const timer = setTimeout(() => {
    unreachable(`no response within ${timeoutMs} ms`);
    cancelStream(stream);
    link.doubt();
  }, timeoutMs);
  const owner: ListenerOwner = {
    contain: (error) => {
      reportBug(error, { part: 'peer call', method });
      cancelStream(stream);
    },
  };
  watchStreamEnd(stream);
  ignoreErrors(stream);
  let status = 0;
  listenOnce(stream, 'response', owner, (headers: Readonly<Record<string, unknown>>) => {
    status = Number(headers[':status']);
  });
  gatherMessage(
    stream,
    owner,
    (answer) => {
      if (typeof answer === 'string') unreachable(`its answer is ${answer}`);
      else if (status === 200) resolve(answer);
      else reject(new PeerRefusal(textOf(answer['code']), textOf(answer['message'])));
      if (answer === 'too_large') cancelStream(stream);
    },
    maxAnswerBytes,
  );
  listenOnce(stream, 'close', owner, () => {
    clearTimeout(timer);
    link.release(stream);
    unreachable('the link broke');
  });
  stream.end(body);
  return promise;
}

function opened(link: OutgoingLink, method: string): ClientHttp2Stream | string {
  const head = [':method', 'POST', ':scheme', 'https', ':authority', NODE_AUTHORITY, ':path', `${CALL_PATH}${method}`];
  try {
    return link.request(head, { endStream: false, waitForTrailers: false });
  } catch (error) {
    return messageOf(error);
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, MAX_TEXT) : 'failed';
}

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
