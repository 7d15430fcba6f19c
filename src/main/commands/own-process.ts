import { once } from 'node:events';
import type { CommandContext } from '../../cli/command.ts';

let isInterrupted = false;

/** The listeners stay: a launcher forwards the signal that the terminal sent already. */
export function onInterrupt(stop: () => void): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      isInterrupted = true;
      stop();
    });
  }
}

/** A request that was abandoned would keep the process alive until its time limit. */
export function exitIfInterrupted(): void {
  if (isInterrupted) process.exit();
}

/** For commands that end: no output is lost, however slow the reader is. A reader that leaves, such as `head`, ends them. */
export function waitingPrinter(): Pick<CommandContext, 'print' | 'printed'> {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(0);
  });
  return {
    print: (line) => process.stdout.write(`${line}\n`),
    printed: async () => {
      if (process.stdout.writableNeedDrain) await once(process.stdout, 'drain');
    },
  };
}
