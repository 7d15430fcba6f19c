import type { Http2Stream, ServerHttp2Stream } from 'node:http2';
import { closing, type ListenerOwner, listen, reportBug } from '../../../kit/guarded-listeners.ts';
import { cancelStream, hasStreamEnd } from '../../../kit/http2/stream-end.ts';
import { isJsonObject } from '../../../kit/json.ts';
import { MAX_CALL_BYTES, MAX_CALLS, type PeerCallHandler, type PeerMessage, PeerRefusal } from './peer-links.ts';

/** `truncated`: the stream ended without END_STREAM. */
type MessageProblem = 'too_large' | 'malformed' | 'truncated';

/** Reads one JSON object from a stream, called back once. The stream must be watched (`watchStreamEnd`). */
export function gatherMessage(
  stream: Http2Stream,
  owner: ListenerOwner,
  done: (message: PeerMessage | MessageProblem) => void,
  maxBytes: number = MAX_CALL_BYTES,
): void {
  let parts: Buffer[] = [];
  let bytes = 0;
  let isDone = false;
  const settle = (message: PeerMessage | MessageProblem): void => {
    if (isDone) return;
    isDone = true;
    parts = [];
    done(message);
  };
  listen(stream, 'data', owner, (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBytes) settle('too_large');
    else if (!isDone) parts.push(chunk);
  });
  listen(stream, 'end', owner, () => {
    if (hasStreamEnd(stream)) settle(parsed(Buffer.concat(parts)) ?? 'malformed');
    else settle('truncated');
  });
  listen(stream, 'close', owner, () => settle('truncated'));
}

function parsed(bytes: Buffer): PeerMessage | null {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** A call whose message is not complete within this time is canceled. */
const MESSAGE_WITHIN_MS = 10_000;
/** Characters of a method's name in a text. */
const MAX_METHOD = 60;
const MAX_CODE = 100;
const MAX_MESSAGE = 4_000;

const PROBLEMS: Readonly<Record<MessageProblem, readonly [number, string]>> = {
  too_large: [413, `a message has more than ${MAX_CALL_BYTES} bytes`],
  malformed: [400, 'a message is not a JSON object'],
  truncated: [400, 'a message is truncated'],
};

interface ServedCall {
  readonly handler: PeerCallHandler;
  readonly maxAnswerBytes: number;
}

/** A node sent a call that no version of a node sends, or more calls than it may. */
type OnRefusedCall = (nodeId: string, code: string, why: string) => void;

/** Methods that this node serves, for all connections of all peers. */
export class ServedCalls {
  readonly #onRefused: OnRefusedCall;
  readonly #handlers = new Map<string, ServedCall>();
  /** Calls in progress by node: a node that calls too often slows down no other node. */
  readonly #active = new Map<string, number>();

  constructor(onRefused: OnRefusedCall) {
    this.#onRefused = onRefused;
  }

  add(method: string, handler: PeerCallHandler, maxAnswerBytes: number): void {
    if (this.#handlers.has(method)) throw new Error(`the peer method ${method} is served already`);
    this.#handlers.set(method, { handler, maxAnswerBytes });
  }

  /** A call that another node passed on. */
  async carryOut(method: string, message: PeerMessage, fromNodeId: string): Promise<PeerMessage> {
    const served = this.#handlers.get(method);
    if (served === undefined) throw new PeerRefusal('unknown_method', `this node does not know ${method}`);
    return served.handler(message, fromNodeId);
  }

  accept(stream: ServerHttp2Stream, method: string, fromNodeId: string): void {
    const active = this.#active.get(fromNodeId) ?? 0;
    const served = this.#handlers.get(method);
    if (served === undefined) {
      const why = `this node does not know the method ${JSON.stringify(method.slice(0, MAX_METHOD))}`;
      this.#refuse(stream, fromNodeId, [404, 'unknown_method', why]);
    } else if (active >= MAX_CALLS) {
      this.#refuse(stream, fromNodeId, [429, 'busy', `more than ${MAX_CALLS} calls are in progress`]);
    } else {
      this.#active.set(fromNodeId, active + 1);
      this.#read(stream, served, fromNodeId);
    }
  }

  #read(stream: ServerHttp2Stream, served: ServedCall, fromNodeId: string): void {
    const timer = setTimeout(() => cancelStream(stream), MESSAGE_WITHIN_MS).unref();
    const owner = closing(stream, 'peer call');
    gatherMessage(stream, owner, (message) => {
      clearTimeout(timer);
      if (typeof message === 'string') {
        this.#over(fromNodeId);
        const [status, why] = PROBLEMS[message];
        this.#refuse(stream, fromNodeId, [status, message, why]);
        return;
      }
      void this.#carryOut(stream, served, message, fromNodeId)
        .catch((error: unknown) => owner.contain(error))
        .finally(() => this.#over(fromNodeId));
    });
  }

  async #carryOut(
    stream: ServerHttp2Stream,
    { handler, maxAnswerBytes }: ServedCall,
    message: PeerMessage,
    fromNodeId: string,
  ): Promise<void> {
    try {
      answer(stream, 200, await handler(message, fromNodeId), maxAnswerBytes);
    } catch (error) {
      if (error instanceof PeerRefusal) refuse(stream, 409, error.code, error.message);
      else {
        reportBug(error, { part: 'peer call' });
        refuse(stream, 500, 'failed', 'the node has an internal error');
      }
    }
  }

  #refuse(stream: ServerHttp2Stream, fromNodeId: string, [status, code, why]: readonly [number, string, string]): void {
    // A node that ends in the middle of its message breaks no rule.
    if (code !== 'truncated') this.#onRefused(fromNodeId, code, why);
    refuse(stream, status, code, why);
  }

  #over(fromNodeId: string): void {
    const left = (this.#active.get(fromNodeId) ?? 1) - 1;
    if (left === 0) this.#active.delete(fromNodeId);
    else this.#active.set(fromNodeId, left);
  }
}

/** Texts may come from other nodes. A text that is too long for an answer must not end the process. */
function refuse(stream: ServerHttp2Stream, status: number, code: string, message: string): void {
  answer(stream, status, { code: code.slice(0, MAX_CODE), message: message.slice(0, MAX_MESSAGE) });
}

function answer(
  stream: ServerHttp2Stream,
  status: number,
  message: PeerMessage,
  maxBytes: number = MAX_CALL_BYTES,
): void {
  const body = Buffer.from(JSON.stringify(message));
  if (body.length > maxBytes) throw new RangeError(`an answer to a peer has ${body.length} bytes`);
  if (stream.destroyed || stream.closed || stream.headersSent) return;
  stream.respond([':status', String(status)]);
  stream.end(body);
  // Reads the rest of a message that was refused early: nothing may block on back-pressure.
  stream.resume();
}
