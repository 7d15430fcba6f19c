import { BodySender } from './body-sender.ts';
import type { Http1Connection } from './http1-connection.ts';
import { http1RequestHead } from './http1-request-head.ts';
import { hasConnectionAuth } from './request-headers.ts';
import type { UpstreamExchange, UpstreamHandler, UpstreamRequest } from './upstream.ts';

/** Notified when an exchange is over. */
export interface ExchangeOwner {
  onOver(exchange: Http1Exchange): void;
}

/**
 * One request in progress: *dialling* (`cancelDial`), *sent* (`connection`), perhaps *dialling* once more when a kept
 * connection turned out to be dead, *switched* (`connection` still, as a raw stream), *over*.
 */
export class Http1Exchange implements UpstreamExchange {
  /** The rest waits in the system. */
  readonly heldBytes = 0;
  readonly request: UpstreamRequest;
  readonly handler: UpstreamHandler;
  readonly head: string;
  readonly body: BodySender | null;
  /** The connection now belongs to this client (NTLM, Negotiate): never reused. */
  readonly isConnectionAuth: boolean;
  connection: Http1Connection | null = null;
  cancelDial: (() => void) | null = null;
  /** Whether the connection had carried a request before: then it may have died unnoticed. */
  isOnKeptConnection = false;
  hasRetried = false;
  /** The client has been asked to send its body. */
  hasContinued = false;
  hasHead = false;
  isOver = false;
  /** Its places among the connections to this upstream, and to all. */
  placeHere = -1;
  placeInAll = -1;
  readonly #owner: ExchangeOwner;

  constructor(owner: ExchangeOwner, request: UpstreamRequest, handler: UpstreamHandler) {
    const { body } = request;
    this.#owner = owner;
    this.request = request;
    this.handler = handler;
    this.head = http1RequestHead(request);
    this.body =
      body.framing === 'none' || (body.framing === 'length' && body.bytes === 0) ? null : new BodySender(body);
    this.isConnectionAuth = hasConnectionAuth(request.headers);
  }

  get expectsContinue(): boolean {
    const { body } = this.request;
    return body.framing !== 'none' && body.expectsContinue && this.body !== null;
  }

  resume(): void {
    this.connection?.resume();
  }

  abort(): void {
    if (this.isOver) return;
    const { connection, cancelDial } = this;
    this.end();
    cancelDial?.();
    connection?.abandon();
  }

  /** Releases everything before the handler is called: the handler may send the next request immediately. */
  end(): void {
    this.isOver = true;
    this.body?.stop();
    this.connection = null;
    this.cancelDial = null;
    this.#owner.onOver(this);
  }
}
