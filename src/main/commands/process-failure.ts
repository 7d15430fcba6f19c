import type { ServerLog } from '../../logging/logger.ts';

export interface ProcessFailure {
  /** Resolves at the first exception that no connection owns, once the server runs. */
  readonly happened: Promise<void>;
  readonly hasHappened: boolean;
}

export interface ProcessFailureOptions {
  /** Null until the server runs: then there is nothing to drain, and the process just exits. */
  readonly runningLog: () => ServerLog | null;
  readonly onFailedStart: (error: unknown) => void;
  /** Longer than any drain takes. */
  readonly exitWithinMs: number;
}

/** An interval that throws would fill the log while the server drains. */
const MAX_LOGGED = 20;

/**
 * An exception or rejection that reaches the process has no owner: it comes from a timer, the store, the replica or the
 * compilation of snapshots, so the state in memory is in doubt. The process accepts no new work, lets requests in
 * progress finish, and exits with 1 so that its supervisor restarts it. Exceptions in connection listeners never come
 * here: see `src/lib/guarded-listeners.ts`.
 */
export function watchProcessFailure(options: ProcessFailureOptions): ProcessFailure {
  const { promise, resolve } = Promise.withResolvers<void>();
  let count = 0;
  // The runtime also raises unhandled rejections here.
  process.on('uncaughtException', (err, origin) => {
    const log = options.runningLog();
    if (log === null) {
      options.onFailedStart(err);
      process.exit(1);
    }
    count += 1;
    if (count <= MAX_LOGGED)
      log.logger.fatal({ err, origin }, 'uncaught exception: draining, then exiting with code 1');
    log.flush();
    if (count > 1) return;
    // Not left to the drain, which may be what is broken.
    setTimeout(() => process.exit(1), options.exitWithinMs);
    resolve();
  });
  return {
    happened: promise,
    get hasHappened() {
      return count > 0;
    },
  };
}
