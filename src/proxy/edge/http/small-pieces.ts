import { guarded, reporting } from '../../../kit/guarded-listeners.ts';
import { LruMap } from '../../../kit/lru-map.ts';

/** A piece costs about 7 µs, however small it is: 5,000 per second are 3 % of a core. */
const SMALL_BYTES = 1024;
const BURST = 5000;
const PER_SECOND = 5000;
/**
 * A paused connection has delivered what was read at once, up to 6,500 pieces, and sometimes more of that. An address
 * that owes this many has many connections that do nothing else, or opens new ones.
 */
const MOST_OWED = 30_000;
/** Between two connections of an address that continue: the first one may use up everything again. */
const NEXT_AFTER_MS = 10;
/** A request costs more than these pieces. */
const FREE_PIECES = 8;
/** A frame that crosses a TLS record ends in a small piece, so larger ones pay for small ones. */
const BYTES_PER_FREE_PIECE = 4096;
const MOST_FREE_PIECES = 64;
const MAX_ADDRESSES = 10_000;
const OWNER = reporting('small pieces of uploads');

/** Counts the small pieces of one body. */
export class BodyPieces {
  #free = FREE_PIECES;

  /** Whether this piece counts. */
  isCounted(bytes: number): boolean {
    if (bytes >= SMALL_BYTES) {
      this.#free = Math.min(MOST_FREE_PIECES, this.#free + bytes / BYTES_PER_FREE_PIECE);
      return false;
    }
    if (this.#free < 1) return true;
    this.#free -= 1;
    return false;
  }
}

export function isSmallPiece(bytes: number): boolean {
  return bytes < SMALL_BYTES;
}

/** A connection with uploads in small pieces. */
export interface PiecesConnection {
  pauseReading(): void;
  resumeReading(): void;
  /** Ends it. */
  refusePieces(): void;
}

interface Account {
  left: number;
  atMs: number;
  readonly paused: Set<PiecesConnection>;
  isWaiting: boolean;
}

/**
 * Bounds the time that uploads in small pieces take: frames of HTTP/2, or chunks of HTTP/1.1. A piece of one byte costs
 * as much as one of a thousand, and what the system has received from one connection is read in one turn: 16
 * connections with frames of one byte delayed everybody else by up to 26 s. An address that sends more than its rate is
 * paused, all of its connections that do, and continues with one connection after the other. Memory and order stay as
 * they are: TCP holds the sender back.
 */
export class SmallPieces {
  readonly #accounts = new LruMap<string, Account>(MAX_ADDRESSES);
  readonly #nowMs: () => number;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  add(owner: string, connection: PiecesConnection, count = 1): void {
    const account = this.#accountOf(owner);
    account.left -= count;
    if (account.left >= 0) return;
    if (account.left < -MOST_OWED) connection.refusePieces();
    else this.#pause(account, connection);
  }

  closed(owner: string, connection: PiecesConnection): void {
    this.#accounts.get(owner)?.paused.delete(connection);
  }

  #accountOf(owner: string): Account {
    const nowMs = this.#nowMs();
    const account = this.#accounts.get(owner);
    if (account !== undefined) {
      refill(account, nowMs);
      return account;
    }
    const added = { left: BURST, atMs: nowMs, paused: new Set<PiecesConnection>(), isWaiting: false };
    this.#accounts.set(owner, added);
    return added;
  }

  /** Each time: the runtime may have started to read again after a write. */
  #pause(account: Account, connection: PiecesConnection): void {
    connection.pauseReading();
    account.paused.add(connection);
    this.#resumeLater(account);
  }

  #resumeLater(account: Account): void {
    if (account.isWaiting) return;
    account.isWaiting = true;
    const waitMs = Math.max(NEXT_AFTER_MS, (-account.left / PER_SECOND) * 1000);
    setTimeout(
      guarded(OWNER, () => {
        account.isWaiting = false;
        this.#resumeNext(account);
      }),
      waitMs,
    ).unref();
  }

  #resumeNext(account: Account): void {
    const [next] = account.paused;
    if (next === undefined) return;
    refill(account, this.#nowMs());
    if (account.left >= 0) {
      account.paused.delete(next);
      next.resumeReading();
    }
    if (account.paused.size > 0) this.#resumeLater(account);
  }
}

function refill(account: Account, nowMs: number): void {
  account.left = Math.min(BURST, account.left + ((nowMs - account.atMs) / 1000) * PER_SECOND);
  account.atMs = nowMs;
}
