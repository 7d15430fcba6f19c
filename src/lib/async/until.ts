import { setTimeout as sleep } from 'node:timers/promises';

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
