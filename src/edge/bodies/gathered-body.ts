import type { HeaderList } from '../../lib/http/header-values.ts';

/**
 * How long a small response may be held back after its head, so that it can be changed as a whole: longer than an
 * upstream pauses between head and body of one response, shorter than anybody notices.
 */
const MAX_HOLD_MS = 10;

/**
 * A response of known, small length on its way to a module that changes it as a whole. Head and body are held until the
 * end has arrived or, when that takes too long, until `onLate` continues with the part so far.
 */
export class GatheredBody {
  /** The head as changed by the module. */
  readonly headers: HeaderList;
  readonly chunks: Buffer[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor(headers: HeaderList, onLate: (body: GatheredBody) => void) {
    this.headers = headers;
    this.#timer = setTimeout(onLate, MAX_HOLD_MS, this);
  }

  /** Never more than was announced: the upstream client enforces it. */
  add(chunk: Buffer): void {
    this.chunks.push(chunk);
  }

  drop(): void {
    clearTimeout(this.#timer);
  }
}
