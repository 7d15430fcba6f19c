import type { ServerLog } from '../../logging/logger.ts';

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

export interface StopSignalOptions {
  /** Null until the server runs: then there is nothing to drain, and the process just exits. */
  readonly runningLog: () => ServerLog | null;
  /** What SIGHUP does instead of stopping the server. */
  readonly onReload: (() => void) | null;
}

/** Ctrl-C arrives twice when a launcher runs us: from the terminal, and forwarded by the launcher. */
const SAME_SIGNAL_MS = 250;

/**
 * Resolves at the first signal. A later one ends the process immediately. Call it before the server starts, because a
 * signal may arrive as soon as the ready line is printed.
 */
export function stopSignal({ runningLog, onReload }: StopSignalOptions): Promise<void> {
  return new Promise((resolve) => {
    let firstMs: number | null = null;
    const onSignal = (signal: NodeJS.Signals) => {
      const log = runningLog();
      if (signal === 'SIGHUP' && onReload !== null) {
        onReload();
        return;
      }
      if (log === null) process.exit();
      if (firstMs === null) {
        firstMs = performance.now();
        log.logger.info({ signal }, 'stopping');
        resolve();
        return;
      }
      if (performance.now() - firstMs < SAME_SIGNAL_MS) return;
      log.logger.warn({ signal }, 'stopping immediately: requests in flight are cut off');
      log.flush();
      process.exit(1);
    };
    for (const signal of SIGNALS) process.on(signal, onSignal);
  });
}
