import { SharedPlaces, type Shortage } from '../net/shared-places.ts';

/** As much as is read at once. */
export const CHUNK_BYTES = 65_536;
/** Files that are read at once, in one thread. */
const MAX_OPEN = 256;
const MAX_KEPT_BUFFERS = 16;

/**
 * The files that responses of one thread have open. A response that waits for its reader keeps its file open only while
 * few files are; otherwise it closes the file, and opens it again when its reader wants more. So readers that do not
 * read hold at most half of the places, and each address gets only a share.
 */
export class OpenFiles {
  readonly #places = new SharedPlaces(MAX_OPEN);
  readonly #waiting: (() => void)[] = [];
  readonly #buffers: Buffer[] = [];
  readonly #hasRoom: () => boolean;

  /** `hasRoom`: whether this process may open one more. */
  constructor(hasRoom: () => boolean = () => true) {
    this.#hasRoom = hasRoom;
  }

  get open(): number {
    return this.#places.held;
  }

  /** Why a new response may open none; null: it may. */
  shortage(visitor: string | undefined): Shortage | 'descriptors' | null {
    return this.#places.shortage(visitor) ?? (this.#hasRoom() ? null : 'descriptors');
  }

  /** Returns what `leave` needs. */
  enter(visitor: string | undefined): number {
    return this.#places.enter(visitor ?? null);
  }

  leave(place: number): void {
    this.#places.leave(place);
    this.#waiting.shift()?.();
  }

  /** A response that goes on waits for its turn instead of being refused. */
  async enterInTurn(visitor: string | undefined): Promise<number> {
    while (this.#places.held >= MAX_OPEN) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return this.enter(visitor);
  }

  /** Whether a response that waits for its reader should close its file. */
  get isCrowded(): boolean {
    return this.#places.held >= MAX_OPEN / 2;
  }

  /** For one chunk. */
  takeBuffer(): Buffer {
    return this.#buffers.pop() ?? Buffer.allocUnsafeSlow(CHUNK_BYTES);
  }

  giveBack(buffer: Buffer): void {
    if (this.#buffers.length < MAX_KEPT_BUFFERS) this.#buffers.push(buffer);
  }
}
