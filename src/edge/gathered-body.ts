import type { HeaderList } from '../upstream/upstream.ts';

/**
 * How long a small answer may be held back, from its head on, so that it can be changed in one go: longer than an upstream
 * pauses between the head and the body of one answer, shorter than anybody notices.
 */
const MAX_HOLD_MS = 10;

/**
 * An answer of known, small length on its way to a module that changes it as a whole. Head and body wait here until the end has
 * come, or, when that takes too long, until `onLate` goes on with what is there.
 */
export class GatheredBody {
  /** The head as the module made it. */
  readonly headers: HeaderList;
  readonly chunks: Buffer[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor(headers: HeaderList, onLate: (body: GatheredBody) => void) {
    this.headers = headers;
    this.#timer = setTimeout(onLate, MAX_HOLD_MS, this);
  }

  /** Never more than was announced: carriers see to that. */
  add(chunk: Buffer): void {
    this.chunks.push(chunk);
  }

  drop(): void {
    clearTimeout(this.#timer);
  }
}
