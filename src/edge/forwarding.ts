import type { Duplex, Readable, Transform } from 'node:stream';
import type { Target } from '../backends/target.ts';
import { breakOff } from '../lib/break-off.ts';
import { type ListenerOwner, listen, listenOnce } from '../lib/guarded-listeners.ts';
import { splice } from '../lib/splice.ts';
import type { ResponseTransform, TrafficResponseHead } from '../modules/prepared-module.ts';
import type { RouteSnapshot } from '../snapshot/edge-snapshot.ts';
import { isUnsendable, unsendable } from '../upstream/unsendable.ts';
import type {
  HeaderList,
  ResponseHead,
  UpstreamExchange,
  UpstreamFailure,
  UpstreamHandler,
} from '../upstream/upstream.ts';
import type { ErrorAnswer } from './error-page.ts';
import type { Exchange } from './exchange.ts';
import { forwardedRequest } from './forwarded-request.ts';
import { GatheredBody } from './gathered-body.ts';
import type { ClientPort } from './http/client-port.ts';
import type { RequestHead } from './http/request-head.ts';
import { withoutOwnHeaders } from './own-cookies.ts';
import { failureAnswer, mayTryNext } from './upstream-failures.ts';
import { WebSocketGoodbye } from './web-socket-goodbye.ts';

/** The client's request and the writer of its response. */
export interface ClientSide {
  readonly head: RequestHead;
  readonly port: ClientPort;
  /** Null when there is no body. */
  readonly source: Readable | null;
  readonly trailers: () => HeaderList;
  /** Called once the source has ended: whether the client marked the end of the body. */
  readonly isBodyWhole: () => boolean;
}

/**
 * Forwards an admitted request to its backend, and the response back. Targets are tried in order, the next one only
 * when a target cannot be reached. Once a byte of a response was sent, or the target may have processed the request,
 * there is no other attempt.
 *
 * Modules and the runtime may throw on data from an upstream. Each method called by the upstream client catches that:
 * the socket listener above it is shared, or has no caller.
 */
export class Forwarding implements UpstreamHandler, ListenerOwner {
  readonly #exchange: Exchange;
  readonly #client: ClientSide;
  readonly #route: RouteSnapshot;
  #targets: readonly Target[] = [];
  #targetAt = 0;
  #upstream: UpstreamExchange | null = null;
  #transform: Transform | null = null;
  #change: BodyChange | null = null;
  #gathered: GatheredBody | null = null;
  /** Both ends of a connection that has switched protocols. */
  #switched: readonly Duplex[] = [];
  #goodbye: WebSocketGoodbye | null = null;
  #isOver = false;

  constructor(exchange: Exchange, client: ClientSide, route: RouteSnapshot) {
    this.#exchange = exchange;
    this.#client = client;
    this.#route = route;
    client.port.onDrain = () => this.#drained();
  }

  start(targets: readonly Target[]): void {
    this.#targets = targets;
    try {
      this.#tryNext();
    } catch (error) {
      this.#broke(error);
    }
  }

  /** The server stops: an open WebSocket would delay it indefinitely. */
  goAway(): void {
    this.#goodbye?.say();
  }

  /** Releases everything; the exchange ends the client's side. */
  abort(): void {
    this.#isOver = true;
    this.#upstream?.abort();
    this.#gathered?.drop();
    this.#transform?.destroy();
    for (const side of this.#switched) breakOff(side);
  }

  #tryNext(): void {
    const target = this.#targets[this.#targetAt] as Target;
    this.#targetAt += 1;
    switch (target.kind) {
      case 'upstream':
        this.#exchange.targetName = target.name;
        this.#upstream = target.upstream.send(forwardedRequest(this.#exchange, this.#client, this.#route), this);
        return;
      case 'response':
        this.#isOver = true;
        this.#exchange.targetName = target.name;
        this.#answerFixed(target.status, this.#withoutOwn(target.headers), target.body);
        return;
      case 'unreachable':
        this.#failed(target.error, target.reason, true);
    }
  }

  onBug(error: unknown): void {
    this.#exchange.bug(error);
  }

  contain(error: unknown): void {
    this.#broke(error);
  }

  #broke(error: unknown): void {
    this.abort();
    if (isUnsendable(error)) this.#fail(unsendable(error));
    else this.#exchange.bug(error);
  }

  #failed(error: ErrorAnswer, reason: string, mayTryAnother: boolean): void {
    if (mayTryAnother && this.#targetAt < this.#targets.length) {
      this.#tryNext();
      return;
    }
    this.#isOver = true;
    this.#exchange.refuseWith(error, 'backend', reason);
  }

  /** Every head, 1xx response and trailer section from a backend passes through here. */
  #withoutOwn(headers: HeaderList): HeaderList {
    return withoutOwnHeaders(headers, this.#route.ownCookieNames);
  }

  onInformational(status: number, headers: HeaderList): void {
    try {
      if (!this.#isOver) this.#client.port.informational(status, this.#withoutOwn(headers));
    } catch (error) {
      this.#broke(error);
    }
  }

  onHead(head: ResponseHead): void {
    try {
      if (!this.#isOver) this.#head(head);
    } catch (error) {
      this.#broke(error);
    }
  }

  #head(head: ResponseHead): void {
    this.#exchange.runtime.answering(this.#exchange);
    this.#exchange.status = head.status;
    const { status, bodyBytes } = head;
    const headers = this.#changedHeaders({ status, headers: this.#withoutOwn(head.headers), bodyBytes });
    if (this.#change === null) {
      // RFC 9110 §8.6: for HEAD, the length is that of the body that GET would return.
      const announced = this.#exchange.method === 'HEAD' ? (head.declaredBytes ?? null) : bodyBytes;
      this.#client.port.head(status, headers, announced);
    } else if (this.#change.whole !== undefined && bodyBytes !== null) {
      this.#gathered = new GatheredBody(headers, (late) => this.#streamGathered(late));
    } else this.#startTransform(this.#change, headers);
  }

  /** Applies the modules to a head. The first one that also changes the body is remembered. */
  #changedHeaders(head: TrafficResponseHead): HeaderList {
    let { headers } = head;
    for (const { prepared } of this.#route.modules) {
      const change = prepared.transform?.(this.#exchange, headers === head.headers ? head : { ...head, headers });
      if (change === undefined || change === null) continue;
      headers = change.headers;
      if (!changesBody(change)) continue;
      this.#change = change;
      break;
    }
    return headers;
  }

  #answerFixed(status: number, ownHeaders: HeaderList, body: Buffer): void {
    const headers = this.#changedHeaders({ status, headers: ownHeaders, bodyBytes: body.length, fixedBody: body });
    this.#exchange.answer(status, headers, this.#change?.whole?.(body) ?? body);
  }

  /** The body takes longer than it may be held back. */
  #streamGathered(late: GatheredBody): void {
    if (this.#isOver || this.#change === null) return;
    this.#gathered = null;
    try {
      const transform = this.#startTransform(this.#change, late.headers);
      for (const chunk of late.chunks) transform.write(chunk);
    } catch (error) {
      this.#broke(error);
    }
  }

  #startTransform(change: BodyChange, headers: HeaderList): Transform {
    const transform = change.createStream();
    this.#transform = transform;
    listen(transform, 'data', this, (chunk: Buffer) => {
      this.#exchange.bytesOut += chunk.length;
      if (!this.#client.port.write(chunk)) transform.pause();
    });
    listen(transform, 'drain', this, () => this.#upstream?.resume());
    listen(transform, 'error', this, (error: unknown) => this.#exchange.bug(error));
    this.#client.port.head(this.#exchange.status, headers, null);
    return transform;
  }

  onSwitch(head: ResponseHead, socket: Duplex): void {
    if (this.#isOver) {
      breakOff(socket);
      return;
    }
    this.#exchange.runtime.answering(this.#exchange);
    this.#exchange.status = head.status;
    this.#upstream = null;
    try {
      this.#splice(this.#client.port.acceptSwitch(head.status, this.#withoutOwn(head.headers)), socket);
    } catch (error) {
      breakOff(socket);
      this.#broke(error);
    }
  }

  #splice(client: Duplex, socket: Duplex): void {
    this.#switched = [client, socket];
    this.#goodbye = new WebSocketGoodbye(client, socket);
    listen(client, 'data', this, (chunk: Buffer) => {
      this.#exchange.bytesIn += chunk.length;
    });
    listen(socket, 'data', this, (chunk: Buffer) => {
      this.#exchange.bytesOut += chunk.length;
    });
    splice(client, socket, this, () => {
      this.#isOver = true;
      this.#exchange.done();
    });
  }

  onData(chunk: Buffer): boolean {
    try {
      return this.#isOver || this.#write(chunk);
    } catch (error) {
      this.#broke(error);
      return true;
    }
  }

  #write(chunk: Buffer): boolean {
    if (this.#transform !== null) return this.#transform.write(chunk);
    if (this.#gathered !== null) {
      this.#gathered.add(chunk);
      return true;
    }
    this.#exchange.bytesOut += chunk.length;
    return this.#client.port.write(chunk);
  }

  onEnd(upstreamTrailers: HeaderList): void {
    try {
      if (!this.#isOver) this.#end(upstreamTrailers);
    } catch (error) {
      this.#broke(error);
    }
  }

  #end(upstreamTrailers: HeaderList): void {
    const trailers = this.#withoutOwn(upstreamTrailers);
    this.#upstream = null;
    if (this.#gathered !== null) {
      this.#answerGathered(this.#gathered, trailers);
      return;
    }
    if (this.#transform === null) this.#endWith(trailers);
    else {
      listenOnce(this.#transform, 'end', this, () => this.#endWith(trailers));
      this.#transform.end();
    }
  }

  #endWith(trailers: HeaderList): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#client.port.end(this.#change?.trailers?.(trailers) ?? trailers);
    this.#exchange.done();
  }

  #answerGathered({ headers, chunks }: GatheredBody, upstreamTrailers: HeaderList): void {
    this.abort();
    const { port } = this.#client;
    const { status } = this.#exchange;
    const whole = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
    const body = this.#change?.whole?.(whole) ?? whole;
    const trailers = this.#change?.trailers?.(upstreamTrailers) ?? upstreamTrailers;
    this.#exchange.bytesOut += body.length;
    if (trailers.length === 0) port.answer(status, headers, body);
    else {
      // HTTP/1.1 has no trailers after a Content-Length.
      port.head(status, headers, null);
      port.write(body);
      port.end(trailers);
    }
    this.#exchange.done();
  }

  onFailure(failure: UpstreamFailure): void {
    try {
      if (!this.#isOver) this.#fail(failure);
    } catch (error) {
      this.#broke(error);
    }
  }

  #fail(failure: UpstreamFailure): void {
    this.#upstream = null;
    this.#gathered?.drop();
    this.#gathered = null;
    this.#exchange.runtime.upstreamFailed(this.#exchange, failure);
    // Part of a response was sent: the client must see that it is truncated.
    if (this.#client.port.isHeadSent) this.#exchange.cut(`upstream_${failure.reason}`);
    else
      this.#failed(
        failureAnswer(failure),
        failure.reason,
        mayTryNext(failure) && this.#client.source?.readableDidRead !== true,
      );
  }

  #drained(): void {
    if (this.#transform === null) this.#upstream?.resume();
    else this.#transform.resume();
  }
}

type BodyChange = ResponseTransform & { readonly createStream: () => Transform };

function changesBody(change: ResponseTransform): change is BodyChange {
  return change.createStream !== null;
}
