import { setTimeout as sleep } from 'node:timers/promises';
import { reportBug } from '../guarded-listeners.ts';

/** The result, or `late` after that time. The work goes on, and its result is ignored. */
export async function atMost<Result, Late>(
  work: Promise<Result>,
  timeoutMs: number,
  late: Late,
): Promise<Result | Late> {
  const { promise, resolve } = Promise.withResolvers<Late>();
  const timer = setTimeout(resolve, timeoutMs, late);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}

const LATE = Symbol('late');

/** The result, or a rejection after that time. The work goes on: what it was asked for may still be carried out. */
export async function within<Result>(work: Promise<Result>, timeoutMs: number, what: string): Promise<Result> {
  const result = await atMost(work, timeoutMs, LATE);
  if (result === LATE) throw new Error(`${what}: no response within ${timeoutMs} ms`);
  return result;
}

const LOOK_EVERY_MS = 10;

/** Waits for a condition that has no event. Returns whether it was met within that time. */
export async function until(isMet: () => boolean, timeoutMs: number): Promise<boolean> {
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    if (isMet()) return true;
    const leftMs = deadlineMs - performance.now();
    if (leftMs <= 0) return false;
    await sleep(Math.min(LOOK_EVERY_MS, leftMs));
  }
}

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
