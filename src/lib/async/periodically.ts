import { reportBug } from '../bug-report.ts';

export interface Periodic {
  /** A run now, or the one in progress. */
  run(): Promise<void>;
  /** Ends with the run in progress. */
  close(): Promise<void>;
}

/**
 * Runs a task again and again, one run at a time: a tick during a run is skipped, so nothing piles up behind a slow
 * database. The task reports what it finds.
 */
export function periodically(task: () => Promise<void>, everyMs: number): Periodic {
  let running: Promise<void> | null = null;
  const run = (): Promise<void> => {
    // A task may throw at once, and nobody owns what a timer throws.
    running ??= Promise.try(task).finally(() => {
      running = null;
    });
    return running;
  };
  const timer = setInterval(() => {
    run().catch((error: unknown) => reportBug(error, { part: 'periodic task' }));
  }, everyMs).unref();
  return {
    run,
    close: async () => {
      clearInterval(timer);
      await running?.catch(() => {});
    },
  };
}
