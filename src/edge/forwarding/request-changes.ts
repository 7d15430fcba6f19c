import type { HeaderList } from '../../lib/http/header-values.ts';
import type { BodyDemand, RequestTransform } from '../../modules/contract/prepared-module.ts';
import type { RequestChanger } from '../../snapshot/edge-snapshot.ts';
import { BodyReader } from '../bodies/body-reader.ts';
import { endBrokenBody } from '../bodies/broken-body.ts';
import type { ClientSide } from '../connections/client-side.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { ChangedRequest } from './changed-request.ts';

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
