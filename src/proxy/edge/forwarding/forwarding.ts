import type { Duplex } from 'node:stream';
import type { Target } from '../../../backends/backend.ts';
import type { HeaderList } from '../../../kit/http/header-values.ts';
import { breakOff } from '../../../kit/net/sockets.ts';
import { copyOf } from '../../../kit/net/waiting-bytes.ts';
import type { TrafficResponseHead } from '../../../modules/contract/prepared-module.ts';
import type { RouteSnapshot } from '../../snapshot/edge-snapshot.ts';
import type {
  ResponseHead,
  Upstream,
  UpstreamExchange,
  UpstreamFailure,
  UpstreamHandler,
} from '../../upstream/upstream.ts';
import { CLIENT_LIMIT, isUnsendable, REQUEST_BODY, unsendable } from '../../upstream/upstream-failure.ts';
import { refuseForClient } from '../answers/answer-or-cut.ts';
import type { ErrorAnswer } from '../answers/error-page.ts';
import type { ClientSide } from '../connections/connection-facts.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { notSwitched, refusedAsOpen } from '../exchange/own-paths.ts';
import type { ResponseWriter } from '../http/incoming-request.ts';
import { TunnelUpstream } from '../tunnels/tunnel-upstream.ts';
import { forwardedRequest, withoutOwnHeaders, withoutSetOwnCookies, withRequestId } from './forwarded-request.ts';
import { endBrokenBody } from './request-changes.ts';
import {
  areWhole,
  ChangedBody,
  type ChangedBodyReader,
  type ChangedResponse,
  changedResponse,
  changedTrailers,
  changedWhole,
  GatheredBody,
} from './response-changes.ts';
import { SwitchedSides } from './switched-sides.ts';
import { failureAnswer, mayTryNext } from './upstream-failures.ts';

const NO_TRAILERS: HeaderList = [];

/**
 * Forwards an admitted request to its backend, and the response back. Targets are tried in order, the next one only
 * when a target cannot be reached. Once a byte of a response was sent, or the target may have processed the request,
 * there is no other attempt.
 *
 * Modules and the runtime may throw on data from an upstream. Each method called by the upstream client catches that:
 * the socket listener above it is shared, or has no caller.
 */
export class Forwarding implements UpstreamHandler, ChangedBodyReader {
  readonly #exchange: Exchange;
  readonly #client: ClientSide;
  /** The request headers as modules have changed them. */
  readonly #headers: HeaderList;
  readonly #route: RouteSnapshot;
  #targets: readonly Target<Upstream>[] = [];
  #targetAt = 0;
  #upstream: UpstreamExchange | null = null;
  /** Null when no module changes the response. */
  #changed: ChangedResponse | null = null;
  #body: ChangedBody | null = null;
  #gathered: GatheredBody | null = null;
  /** Trailers of the upstream, once its response has ended. */
  #trailers: HeaderList = NO_TRAILERS;
  #switched: SwitchedSides | null = null;
  #isOver = false;

  constructor(exchange: Exchange, client: ClientSide, headers: HeaderList, route: RouteSnapshot) {
    this.#exchange = exchange;
    this.#client = client;
    this.#headers = headers;
    this.#route = route;
    client.writer.onDrain = () => this.#drained();
    client.writer.sender = this;
  }

  start(targets: readonly Target<Upstream>[]): void {
    this.#targets = targets;
    try {
      this.#tryTargets(null);
    } catch (error) {
      this.#broke(error);
    }
  }

  /**
   * All attempts of a request, one target after the other. An upstream takes the request and reports later: `onFailure`
   * continues here with the failure of that attempt, which is null at first.
   */
  #tryTargets(failure: UpstreamFailure | null): void {
    this.#upstream = null;
    this.#gathered?.drop();
    this.#gathered = null;
    if (failure?.reason === REQUEST_BODY) {
      endBrokenBody(this.#exchange);
      return;
    }
    if (failure?.reason === CLIENT_LIMIT) {
      refuseForClient(this.#exchange);
      return;
    }
    let last = failure === null ? null : this.#failedAttempt(failure);
    while (last === null || (last.mayTryNext && this.#targetAt < this.#targets.length)) {
      const target = this.#targets[this.#targetAt] as Target<Upstream>;
      this.#targetAt += 1;
      if (target.kind === 'unreachable') {
        last = { answer: target.error, reason: target.reason, mayTryNext: true };
        continue;
      }
      this.#exchange.aimAt(target.name);
      if (target.kind === 'response') {
        this.#answerFixed(target);
        return;
      }
      this.#exchange.trace?.attempt(target.name, target.upstream instanceof TunnelUpstream);
      const request = forwardedRequest(this.#exchange, this.#client, this.#headers, this.#route);
      this.#upstream = target.upstream.send(request, this);
      return;
    }
    this.#exchange.outcome?.failed(last.reason);
    // Part of a response was sent: the client must see that it is truncated.
    if (this.#client.writer.isHeadSent) this.#exchange.cut(`upstream_${last.reason}`);
    else {
      this.#isOver = true;
      this.#exchange.refuseWith(last.answer, 'backend', last.reason);
    }
  }

  /** Reports the failure of an upstream. */
  #failedAttempt(failure: UpstreamFailure): FailedAttempt {
    // A client that stops sending or reading is no failure of the backend, nor is an upload that the backend refuses to
    // read: many services answer 413 and close, and the reset can overtake the answer. The upload may be whole here.
    const isUnread = failure.isUnread === true || this.#client.source?.readableEnded === false;
    if (failure.phase === 'send' ? isUnread : failure.isHeldBack === true) this.#exchange.outcome?.settle('none');
    this.#exchange.runtime.upstreamFailed(this.#exchange, failure);
    this.#exchange.trace?.attemptFailed(failure.reason, this.#exchange.tunnelNode);
    const isRepeatable = this.#client.source?.readableDidRead !== true && !this.#client.writer.isHeadSent;
    return {
      answer: failureAnswer(failure),
      reason: failure.reason,
      mayTryNext: isRepeatable && mayTryNext(failure),
    };
  }

  /** What has arrived and the client's writer has not got. */
  get heldBytes(): number {
    return this.#upstream?.heldBytes ?? 0;
  }

  goAway(): boolean {
    this.#switched?.goAway();
    return this.#switched !== null;
  }

  /** Releases everything; the exchange ends the client's side. */
  abort(): void {
    this.#isOver = true;
    this.#upstream?.abort();
    this.#gathered?.drop();
    this.#body?.destroy();
    this.#switched?.breakOff();
  }

  onBug(error: unknown): void {
    this.#exchange.bug(error);
  }

  contain(error: unknown): void {
    this.#broke(error);
  }

  #broke(error: unknown): void {
    this.abort();
    if (isUnsendable(error)) this.#tryTargets(unsendable(error));
    else this.#exchange.bug(error);
  }

  /** Every head, 1xx response and trailer section from a backend passes through here. */
  #withoutOwn(headers: HeaderList): HeaderList {
    return withoutOwnHeaders(headers, this.#route.ownCookieNames);
  }

  #informational(headers: HeaderList): HeaderList {
    let changed = this.#withoutOwn(headers);
    for (const { prepared } of this.#route.responseChangers) changed = prepared.informational?.(changed) ?? changed;
    return changed;
  }

  onInformational(status: number, headers: HeaderList): void {
    try {
      if (!this.#isOver) this.#client.writer.informational(status, this.#informational(headers));
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
    const { status, bodyBytes } = head;
    this.#exchange.outcome?.answered(status, this.#exchange.runtime.clock.nowMs());
    if (this.#client.writer.wouldOpen(status)) {
      // The backend has answered a handshake that it does not serve.
      this.#exchange.outcome?.settle('served');
      this.#upstream?.abort();
      this.#tryTargets(notSwitched(status));
      return;
    }
    this.#exchange.runtime.answering(this.#exchange);
    this.#exchange.status = status;
    const ownHeaders = withRequestId(this.#withoutOwn(head.headers), this.#exchange);
    const { responseChangers } = this.#route;
    if (responseChangers.length > 0)
      this.#changed = this.#changedBy(responseChangers, { status, headers: ownHeaders, bodyBytes });
    const changed = this.#changed;
    const headers = changed?.headers ?? ownHeaders;
    if (changed === null || changed.bodies.length === 0) {
      // RFC 9110 §8.6: for HEAD, the length is that of the body that GET would return.
      const announced = this.#exchange.method === 'HEAD' ? (head.declaredBytes ?? null) : bodyBytes;
      this.#client.writer.head(status, headers, changed?.isLengthOpen === true ? null : announced);
    } else if (bodyBytes !== null && areWhole(changed.bodies)) {
      this.#gathered = new GatheredBody(headers, (late) => this.#streamGathered(late));
    } else this.#startStreams(changed);
  }

  /** A module may add cookies, but never one of ours. */
  #changedBy(changers: RouteSnapshot['responseChangers'], head: TrafficResponseHead): ChangedResponse | null {
    const changed = changedResponse(this.#exchange, changers, head);
    if (changed === null) return null;
    const headers = withoutSetOwnCookies(changed.headers, this.#route.ownCookieNames);
    return headers === changed.headers ? changed : { ...changed, headers };
  }

  /** The edge answers by itself. */
  #answerFixed({ status, headers: given, body }: FixedResponse): void {
    this.#exchange.outcome?.settle('none');
    if (refusedAsOpen(this.#exchange, status)) return;
    const headers = withRequestId(this.#withoutOwn(given), this.#exchange);
    const head = { status, headers, bodyBytes: body.length, fixedBody: body };
    const changed = this.#changedBy(this.#route.responseChangers, head);
    const isLengthKnown = changed?.isLengthOpen !== true || changed.bodies.length > 0;
    if (changed === null || (isLengthKnown && areWhole(changed.bodies))) {
      this.#isOver = true;
      const whole = changed === null ? body : changedWhole(changed.bodies, body);
      this.#exchange.answer(status, changed?.headers ?? headers, whole);
      return;
    }
    this.#exchange.runtime.answering(this.#exchange);
    this.#exchange.status = status;
    // Nobody reads the client's data.
    this.#client.source?.resume();
    this.#changed = changed;
    this.#streamFixed(changed, body);
  }

  #streamFixed(changed: ChangedResponse, body: Buffer): void {
    if (changed.bodies.length === 0) {
      this.#client.writer.head(this.#exchange.status, changed.headers, null);
      this.#endWith(NO_TRAILERS);
      return;
    }
    const stream = this.#startStreams(changed);
    stream.write(body);
    stream.end();
  }

  /** The body takes longer than it may be held back. */
  #streamGathered(late: GatheredBody): void {
    if (this.#isOver || this.#changed === null) return;
    this.#gathered = null;
    try {
      const stream = this.#startStreams(this.#changed);
      for (const chunk of late.chunks) stream.write(chunk);
    } catch (error) {
      this.#broke(error);
    }
  }

  #startStreams({ bodies, headers }: ChangedResponse): ChangedBody {
    const body = new ChangedBody(bodies, this);
    this.#body = body;
    this.#client.writer.head(this.#exchange.status, headers, null);
    return body;
  }

  onChangedChunk(chunk: Buffer): boolean {
    this.#exchange.bytesOut += chunk.length;
    return this.#client.writer.write(chunk);
  }

  onChangedRoom(): void {
    this.#upstream?.resume();
  }

  onChangedEnd(): void {
    // A stream may end before the upstream does, for example one that truncates a body.
    this.#upstream?.abort();
    this.#endWith(this.#trailers);
  }

  onChangedFailure(error: unknown): void {
    if (!this.#isOver) this.#exchange.bug(error);
  }

  onSwitch(head: ResponseHead, socket: Duplex): void {
    if (this.#isOver) {
      breakOff(socket);
      return;
    }
    this.#exchange.runtime.answering(this.#exchange);
    this.#exchange.status = head.status;
    this.#exchange.outcome?.settle('served');
    this.#upstream = null;
    try {
      const headers = withRequestId(this.#informational(head.headers), this.#exchange);
      const client = this.#client.writer.acceptSwitch(head.status, headers);
      this.#switched = new SwitchedSides(client, socket, this.#exchange.runtime.halfClosedMs);
      this.#switched.carry(this.#exchange, this, () => {
        this.#isOver = true;
        this.#exchange.done();
      });
    } catch (error) {
      breakOff(socket);
      this.#broke(error);
    }
  }

  onData(chunk: Buffer): boolean {
    try {
      return this.#isOver || this.#write(chunk);
    } catch (error) {
      this.#broke(error);
      return true;
    }
  }

  onBorrowedData(chunk: Buffer): boolean {
    const { writer } = this.#client;
    if (this.#body !== null || this.#gathered !== null || writer.writeBorrowed === undefined)
      return this.onData(copyOf(chunk));
    try {
      if (this.#isOver) return true;
      this.#exchange.bytesOut += chunk.length;
      return writer.writeBorrowed(chunk);
    } catch (error) {
      this.#broke(error);
      return true;
    }
  }

  #write(chunk: Buffer): boolean {
    if (this.#body !== null) return this.#body.write(chunk);
    if (this.#gathered !== null) {
      this.#gathered.add(chunk);
      return true;
    }
    this.#exchange.bytesOut += chunk.length;
    return this.#client.writer.write(chunk);
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
    this.#trailers = trailers;
    if (this.#body === null) this.#endWith(trailers);
    else this.#body.end();
  }

  #endWith(trailers: HeaderList): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#exchange.outcome?.settle('served');
    this.#client.writer.end(changedTrailers(this.#changed, trailers));
    this.#exchange.done();
  }

  #answerGathered({ headers, chunks }: GatheredBody, upstreamTrailers: HeaderList): void {
    this.abort();
    this.#exchange.outcome?.settle('served');
    const whole = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
    const body = changedWhole(this.#changed?.bodies ?? [], whole);
    const trailers = changedTrailers(this.#changed, upstreamTrailers);
    this.#exchange.bytesOut += body.length;
    answerWhole(this.#client.writer, { status: this.#exchange.status, headers, body, trailers });
    this.#exchange.done();
  }

  onFailure(failure: UpstreamFailure): void {
    try {
      if (!this.#isOver) this.#tryTargets(failure);
    } catch (error) {
      this.#broke(error);
    }
  }

  #drained(): void {
    if (this.#body === null) this.#upstream?.resume();
    else this.#body.resume();
  }
}

type FixedResponse = Extract<Target<Upstream>, { readonly kind: 'response' }>;

/** A target that did not respond. */
interface FailedAttempt {
  /** For the client, if there is no other target. */
  readonly answer: ErrorAnswer;
  readonly reason: string;
  readonly mayTryNext: boolean;
}

interface WholeResponse {
  readonly status: number;
  readonly headers: HeaderList;
  readonly body: Buffer;
  readonly trailers: HeaderList;
}

/** Sends a response whose body is complete. */
function answerWhole(writer: ResponseWriter, { status, headers, body, trailers }: WholeResponse): void {
  if (trailers.length === 0) {
    writer.answer(status, headers, body);
    return;
  }
  // HTTP/1.1 has no trailers after a Content-Length.
  writer.head(status, headers, null);
  writer.write(body);
  writer.end(trailers);
}
