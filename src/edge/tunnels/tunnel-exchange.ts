import { hash } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { reportBug } from '../../lib/bug-report.ts';
import { guarded } from '../../lib/guarded-listeners.ts';
import type { HeaderList } from '../../lib/header-list.ts';
import { TUNNEL_ADDRESS_HEADER, TUNNEL_ERROR_HEADER } from '../../tunnel/protocol.ts';
import { isSafe } from '../../upstream/request-headers.ts';
import { isUnsendable } from '../../upstream/unsendable.ts';
import type {
  ResponseHead,
  UpstreamExchange,
  UpstreamFailure,
  UpstreamHandler,
  UpstreamRequest,
} from '../../upstream/upstream.ts';
import { failed } from '../../upstream/upstream-failure.ts';
import { firstValue } from '../http/header-list.ts';
import { agentFailure } from './agent-failure.ts';
import type { AgentLink } from './online-tunnels.ts';
import type { TunnelUpstream } from './tunnel-upstream.ts';

const KEY_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
/**
 * Heads are not flow-controlled: an agent that sends them endlessly would fill the memory for a client that does not
 * read.
 */
const MAX_INFORMATIONAL = 100;
const OFFLINE = 'the agent of this tunnel has no connection that accepts requests';

/**
 * A request through a tunnel. It handles what only tunnels have: an agent that reports that it could not reach its
 * service, and a second connection of the same agent when the first breaks. States: *sent* (`#inner`), perhaps *sent*
 * once more on another connection, *refused* (an immediate is set), *over*.
 */
export class TunnelExchange implements UpstreamExchange, UpstreamHandler {
  readonly #upstream: TunnelUpstream;
  readonly #request: UpstreamRequest;
  readonly #handler: UpstreamHandler;
  #inner: UpstreamExchange | null = null;
  #link: AgentLink | null = null;
  #refusal: NodeJS.Immediate | null = null;
  #hasBytes = false;
  #informational = 0;
  #isRetry = false;

  constructor(upstream: TunnelUpstream, request: UpstreamRequest, handler: UpstreamHandler) {
    this.#upstream = upstream;
    this.#request = request;
    this.#handler = handler;
  }

  start(): this {
    if (!this.#send(null)) this.#refuse(failed('connect', 'no_tunnel', OFFLINE, false));
    return this;
  }

  /** After a stream that was refused unprocessed. */
  startAgain(): this {
    this.#isRetry = true;
    return this.start();
  }

  resume(): void {
    this.#inner?.resume();
  }

  abort(): void {
    if (this.#refusal !== null) clearImmediate(this.#refusal);
    this.#refusal = null;
    this.#inner?.abort();
  }

  onInformational(status: number, headers: HeaderList): void {
    this.#hasBytes = true;
    this.#informational += 1;
    if (this.#informational <= MAX_INFORMATIONAL) {
      this.#handler.onInformational(status, headers);
      return;
    }
    this.#inner?.abort();
    this.#inner = null;
    this.#handler.onFailure(failed('head', 'malformed', 'too many informational responses', true));
  }

  onHead(head: ResponseHead): void {
    this.#hasBytes = true;
    const reason = firstValue(head.headers, TUNNEL_ERROR_HEADER);
    if (reason === undefined) {
      this.#handler.onHead(head);
      return;
    }
    // Its short text is not for the visitor: the edge has its own page.
    this.#inner?.abort();
    this.#upstream.rest();
    this.#handler.onFailure(agentFailure(reason, firstValue(head.headers, TUNNEL_ADDRESS_HEADER)));
  }

  /** RFC 8441 §5.1 has no response to the client's key; an HTTP/1.1 client waits for one. */
  onSwitch(head: ResponseHead, stream: Duplex): void {
    const headers = head.headers.filter((_, at) => head.headers[at - (at % 2)] !== 'sec-websocket-accept');
    const key = firstValue(this.#request.headers, 'sec-websocket-key');
    if (key !== undefined) headers.push('sec-websocket-accept', hash('sha1', `${key}${KEY_SUFFIX}`, 'base64'));
    this.#handler.onSwitch({ ...head, status: 101, headers }, stream);
  }

  onData(chunk: Buffer): boolean {
    return this.#handler.onData(chunk);
  }

  onEnd(trailers: HeaderList): void {
    this.#handler.onEnd(trailers);
  }

  onFailure(failure: UpstreamFailure): void {
    this.#inner = null;
    const { method, body, switchTo } = this.#request;
    const isLost = failure.phase === 'send' && failure.reason !== 'request_body' && failure.reason !== 'timeout';
    const isRepeatable = isLost && !this.#hasBytes && body.framing === 'none' && switchTo === null && isSafe(method);
    if (!isRepeatable) {
      this.#handler.onFailure(failure);
      return;
    }
    // One connection of an agent is gone; most agents have another.
    const isSentAgain = !this.#isRetry && this.#sendAgain();
    if (!isSentAgain) this.#handler.onFailure({ ...failure, isSafe: true });
    else this.#isRetry = true;
  }

  #sendAgain(): boolean {
    try {
      return this.#send(this.#link);
    } catch (error) {
      if (!isUnsendable(error)) reportBug(error, { part: 'tunnel exchange' });
      return false;
    }
  }

  /** False when the agent has no connection with room, or only the one that has just failed. */
  #send(except: AgentLink | null): boolean {
    const link = this.#upstream.tunnel.link();
    if (link === null || link === except) return false;
    this.#link = link;
    const parts = { request: this.#request, handler: this, isRetry: this.#isRetry };
    this.#inner = this.#upstream.sendOn(link, parts);
    return true;
  }

  onBug(error: unknown): void {
    this.#inner = null;
    this.#handler.onBug(error);
  }

  /** Deferred: a caller does not expect a failure before it has the exchange. */
  #refuse(failure: UpstreamFailure): void {
    const { body } = this.#request;
    if (body.framing !== 'none') body.source.pause();
    this.#refusal = setImmediate(
      guarded({ contain: (error) => this.onBug(error) }, () => {
        this.#refusal = null;
        this.#handler.onFailure(failure);
      }),
    );
  }
}
