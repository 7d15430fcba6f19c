import { readPath } from '../../../kit/http/canonical-path.ts';
import type { HeaderList } from '../../../kit/http/header-values.ts';
import { isAuthority } from '../../../kit/http/urls.ts';
import type { Refusal } from '../../../modules/contract/decides.ts';
import type { BodyDemand, HeaderChange, RequestTransform } from '../../../modules/contract/prepared-module.ts';
import { mayShareService } from '../../snapshot/compile-backend.ts';
import type { EdgeSnapshot, RequestChanger, RouteSnapshot } from '../../snapshot/edge-snapshot.ts';
import { REQUEST_BODY } from '../../upstream/upstream-failure.ts';
import type { ClientSide } from '../connections/connection-facts.ts';
import { edgeErrors } from '../errors.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { isOwnPath } from '../exchange/own-paths.ts';
import { BodyReader } from '../exchange/received-request.ts';
import { withoutOwnCookies } from './forwarded-request.ts';
import { checkedChange, withHeaderChange, withoutNames } from './module-headers.ts';

const MESSAGE = 'The request was rejected: its body is incomplete.';

/** Ends a request whose body broke off, or does not have its announced length. Only its client can have caused that. */
export function endBrokenBody(exchange: Exchange): void {
  const { writer } = exchange.client;
  if (writer.isGone) writer.onGone();
  else if (writer.isHeadSent) exchange.cut(REQUEST_BODY);
  else exchange.refuse('ERR_POSTERN_BAD_HTTP', REQUEST_BODY, MESSAGE);
}

/** Where a request is rewritten. */
interface RewritePlace {
  readonly route: RouteSnapshot | null;
  readonly host: string;
  readonly runtime: { findEdge(host: string): EdgeSnapshot | undefined };
}

const UNREADABLE = refusal('rewritten_path', 'This address leads to a path that this site does not forward.');
const SECOND_DOOR = refusal(
  'other_access',
  'This address leads to a page of this site that has other access rules. Use the address of that page.',
);

/**
 * Why a rewritten path is not forwarded; null: it is. The upstream gets only what it could get as a received path: a
 * rewrite is no second door to a page of the same service behind another route with other access modules.
 */
function rewriteProblem(target: string, { route, host, runtime }: RewritePlace): Refusal | null {
  const reading = readPath(target);
  const edge = runtime.findEdge(host);
  if (!reading.ok || reading.path.odd !== null || edge === undefined || route === null || isOwnPath(edge, reading.path))
    return UNREADABLE;
  const reached = edge.routes.reachedBy(reading.path, host);
  if (reached === null) return UNREADABLE;
  for (const other of reached) {
    const isOther = other.access !== route.access && mayShareService(other.backend, route.backend);
    if (isOther) return SECOND_DOOR;
  }
  return null;
}

function refusal(reason: string, message: string): Refusal {
  const code = 'ERR_POSTERN_BAD_PATH';
  return { status: edgeErrors.rows[code].status, code, reason, message };
}

const NONE: ReadonlySet<string> = new Set();

/** A request as modules change it, one after the other. */
export class ChangedRequest {
  #headers: HeaderList;
  readonly #place: RewritePlace;
  #host: string | null = null;
  #target: string | null = null;
  /** Null until a module removes one. */
  #removed: ReadonlySet<string> | null = null;
  #withoutForwarded = NONE;

  constructor(client: ClientSide, place: RewritePlace) {
    this.#place = place;
    this.#headers = withoutOwnCookies(client.head.headers);
  }

  get headers(): HeaderList {
    return this.#headers;
  }

  /**
   * Throws when the module changes something that modules may not change. Returns why the request is rejected, if it
   * is.
   */
  apply(module: RequestChanger, change: HeaderChange): Refusal | null {
    const checked = checkedChange(module, change);
    this.#headers = withHeaderChange(this.#headers, checked);
    if (checked.removed !== null) {
      this.#removed = this.#removed?.union(checked.removed) ?? checked.removed;
      if (checked.withoutForwarded.size > 0)
        this.#withoutForwarded = this.#withoutForwarded.union(checked.withoutForwarded);
    }
    if (change.host !== undefined) {
      if (!isAuthority(change.host)) throw new Error(`the ${module.name} module sets a malformed host`);
      this.#host = change.host;
    }
    if (change.target === undefined) return null;
    this.#target = change.target;
    return rewriteProblem(change.target, this.#place);
  }

  /**
   * The client's side as it is forwarded. Some upstreams merge trailers into the headers: what is removed is removed
   * there, too.
   */
  forwarded(client: ClientSide): ClientSide {
    const removed = this.#removed;
    // Without a body there are no trailers.
    const side =
      removed === null || client.source === null
        ? client
        : { ...client, trailers: () => withoutNames(client.trailers(), removed) };
    const [host, target, withoutForwarded] = [this.#host, this.#target, this.#withoutForwarded];
    if (host === null && target === null && withoutForwarded.size === 0) return side;
    return { ...side, changedHead: { host, target, withoutForwarded } };
  }
}

const TOO_LONG_MESSAGE = 'The body of the request is larger than this site accepts.';

/**
 * Passes an admitted request through the modules that change requests, one after the other. It ends in one call of
 * `forward`, in a rejection, or in nothing when the exchange has ended in the meantime.
 */
export class RequestChanges {
  readonly #exchange: Exchange;
  readonly #changers: readonly RequestChanger[];
  readonly #forward: (client: ClientSide, headers: HeaderList) => void;
  /** Null until a module reads the body, which few do. */
  #body: BodyReader | null = null;
  readonly #changed: ChangedRequest;

  constructor(
    exchange: Exchange,
    changers: readonly RequestChanger[],
    forward: (client: ClientSide, headers: HeaderList) => void,
  ) {
    this.#exchange = exchange;
    this.#changers = changers;
    this.#forward = forward;
    this.#changed = new ChangedRequest(exchange.client, exchange);
  }

  start(): void {
    this.#from(0);
  }

  #from(position: number): void {
    for (let at = position; at < this.#changers.length; at += 1) {
      const module = this.#changers[at] as RequestChanger;
      const change = module.prepared.transformRequest(this.#exchange, this.#changed.headers);
      if (change instanceof Promise) {
        this.#late(change, module, at);
        return;
      }
      if (!this.#take(change, module, at)) return;
    }
    const client = this.#body === null ? this.#exchange.client : this.#body.forwarded();
    this.#forward(this.#changed.forwarded(client), this.#changed.headers);
  }

  /** Returns whether to call the next module now. */
  #take(change: RequestTransform | null, module: RequestChanger, at: number): boolean {
    if (change === null) return true;
    if ('refusal' in change) {
      this.#exchange.refusedByModule(change.refusal, module.name);
      return false;
    }
    if ('read' in change) {
      this.#late(this.#readFor(change), module, at);
      return false;
    }
    const refusal = this.#changed.apply(module, change);
    if (refusal !== null) this.#exchange.refusedByModule(refusal, module.name);
    return refusal === null;
  }

  #late(change: Promise<RequestTransform | null | 'refused'>, module: RequestChanger, at: number): void {
    const settled = (late: RequestTransform | null | 'refused'): void => {
      if (late !== 'refused' && !this.#exchange.isDone && this.#take(late, module, at)) this.#from(at + 1);
    };
    change
      .then((late) => this.#exchange.onceDecided(() => settled(late)))
      .catch((error: unknown) => this.#exchange.bug(error));
  }

  async #readFor(demand: BodyDemand): Promise<RequestTransform | null | 'refused'> {
    const exchange = this.#exchange;
    this.#body ??= new BodyReader(exchange.client, (count) => {
      exchange.bytesIn += count;
    });
    const reading = await this.#body.read(demand.maxBytes);
    if (this.#exchange.isDone) return null;
    if (reading === 'cut') {
      endBrokenBody(this.#exchange);
      return 'refused';
    }
    if (reading === 'longer' && demand.whenLonger !== 'forward') {
      this.#exchange.refuse('ERR_POSTERN_EDGE_BODY_TOO_LARGE', 'body_too_large', TOO_LONG_MESSAGE);
      return 'refused';
    }
    return demand.read(reading === 'longer' ? null : reading);
  }
}
