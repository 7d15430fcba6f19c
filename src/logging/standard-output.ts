import { constants, fstatSync, openSync, writeSync } from 'node:fs';
import { LineOutput, type TryWrite } from './line-output.ts';

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
