import { constants, fstatSync, openSync, writeSync } from 'node:fs';

const STANDARD_OUTPUT = 1;
/** How long an ending process waits for a stalled reader. */
const FLUSH_MS = 1000;

/** Printer of a long-running command. */
interface DroppingPrinter {
  print(line: string): void;
  describeDropped(lineOf: (count: number) => string): void;
}

let opened: LineOutput | null = null;

/**
 * Standard output of long-running commands: a stalled reader must not stop a server or an agent. One per process,
 * because lines of two would not keep their order.
 */
export function standardOutput(): LineOutput {
  if (opened !== null) return opened;
  const output = new LineOutput({ tryWrite: nonBlockingWrite(STANDARD_OUTPUT) });
  process.on('exit', () => output.flush(FLUSH_MS));
  opened = output;
  return output;
}

export function droppingPrinter(): DroppingPrinter {
  const output = standardOutput();
  return {
    print: (line) => output.write(`${line}\n`),
    describeDropped: (lineOf) => {
      output.gapLine = (count) => `${lineOf(count)}\n`;
    },
  };
}

function nonBlockingWrite(given: number): TryWrite {
  const fd = nonBlockingDescriptor(given);
  return (bytes) => {
    try {
      return writeSync(fd, bytes);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EAGAIN' || code === 'EINTR') return 0;
      throw error;
    }
  };
}

/**
 * The same pipe or terminal, opened once more: blocking mode belongs to the open file, and this one may be shared with
 * other programs. Sockets (the journal) and pipes of another user cannot be opened this way. The runtime made those
 * non-blocking when `process.stdout` was accessed; a terminal of another user stays blocking. A regular file never
 * blocks, and opened once more it would be written from its start.
 */
function nonBlockingDescriptor(fd: number): number {
  // Accessing it makes sockets and pipes non-blocking.
  void process.stdout.writable;
  try {
    const kind = fstatSync(fd);
    if (!kind.isFIFO() && !kind.isCharacterDevice()) return fd;
    return openSync(`/dev/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return fd;
  }
}

/**
 * Writes as much as possible without blocking, and returns the number of bytes; 0: none for now. Throws when it cannot
 * write.
 */
export type TryWrite = (bytes: Uint8Array) => number;

export interface LineOutputOptions {
  readonly tryWrite: TryWrite;
  /** Bytes that may be queued for a slow reader. */
  readonly maxPendingBytes?: number;
  readonly retryMs?: number;
}

const MAX_PENDING_BYTES = 1_048_576;
const RETRY_MS = 50;
const FLUSH_STEP_MS = 5;

/**
 * Lines for a reader that may stall. While the reader keeps up they are written synchronously, so that the last lines
 * before a crash are out. States: *flowing* (nothing is queued), *waiting* (lines are queued in memory, in order, and
 * writing is retried on a timer), *dropping* (the queue is full: whole lines are dropped and counted, until half of the
 * queue is out). On leaving *dropping*, one line marks the gap.
 *
 * If the destination fails (the reader is gone, the disk is full), queued lines are dropped and the next line tries
 * again.
 */
export class LineOutput {
  /** The line that marks dropped lines, with its line feed. */
  gapLine: (count: number) => string = (count) =>
    `postern: ${count} lines dropped because the output was not read fast enough\n`;
  readonly #tryWrite: TryWrite;
  readonly #maxPendingBytes: number;
  readonly #retryMs: number;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  /** Since the last gap line. */
  #gap = 0;
  #dropped = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor({ tryWrite, maxPendingBytes = MAX_PENDING_BYTES, retryMs = RETRY_MS }: LineOutputOptions) {
    this.#tryWrite = tryWrite;
    this.#maxPendingBytes = maxPendingBytes;
    this.#retryMs = retryMs;
  }

  /** Lines dropped since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  /** Whole lines, one or several. */
  write(text: string): void {
    const bytes = Buffer.from(text);
    if (this.#pendingBytes > 0 && !this.#hasRoomFor(bytes.length)) {
      this.#drop(bytes);
      return;
    }
    if (this.#gap > 0) this.#fillGap();
    this.#append(bytes);
    if (this.#timer === null) this.#send();
  }

  /** Waits for the reader, blocking the process, for at most `maxWaitMs`: used just before the process ends. */
  flush(maxWaitMs: number): void {
    const deadline = performance.now() + maxWaitMs;
    this.#send();
    while (this.#pendingBytes > 0 && performance.now() < deadline) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FLUSH_STEP_MS);
      this.#send();
    }
  }

  #hasRoomFor(byteCount: number): boolean {
    // Half, so that a reader that is slightly too slow causes a few long gaps, not many short ones.
    const limit = this.#gap > 0 ? this.#maxPendingBytes / 2 : this.#maxPendingBytes;
    return this.#pendingBytes + byteCount <= limit;
  }

  #append(bytes: Buffer): void {
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
  }

  #fillGap(): void {
    const line = Buffer.from(this.gapLine(this.#gap));
    this.#gap = 0;
    this.#append(line);
  }

  #drop(bytes: Buffer): void {
    let lines = 0;
    for (const byte of bytes) if (byte === 10) lines += 1;
    this.#gap += lines;
    this.#dropped += lines;
  }

  #send(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    try {
      this.#sendPending();
      if (this.#pendingBytes === 0 && this.#gap > 0) {
        this.#fillGap();
        this.#sendPending();
      }
    } catch {
      for (const bytes of this.#pending) this.#drop(bytes);
      this.#pending = [];
      this.#pendingBytes = 0;
      return;
    }
    if (this.#pendingBytes > 0) this.#timer = setTimeout(() => this.#send(), this.#retryMs).unref();
  }

  #sendPending(): void {
    let sent = 0;
    try {
      for (let bytes = this.#pending[sent]; bytes !== undefined; bytes = this.#pending[sent]) {
        const count = this.#tryWrite(bytes);
        this.#pendingBytes -= count;
        if (count === bytes.length) sent += 1;
        else if (count === 0) return;
        else this.#pending[sent] = bytes.subarray(count);
      }
    } finally {
      this.#pending.splice(0, sent);
    }
  }
}
