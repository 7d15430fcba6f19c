import { readFileSync, readlinkSync } from 'node:fs';

/** What the system calls this thread, for `runDelayMs`. Null where it does not tell. Linux only. */
export function ownThread(): string | null {
  try {
    return readlinkSync('/proc/thread-self');
  } catch {
    return null;
  }
}

/** How long a thread of this process was ready to run, but got no CPU, since it started. Zero where the system does not tell. */
export function runDelayMs(thread: string): number {
  try {
    // Nanoseconds on a CPU, nanoseconds of waiting for one, turns (Documentation/scheduler/sched-stats.rst).
    const [, waited] = readFileSync(`/proc/${thread}/schedstat`, 'utf8').split(' ');
    return Number(waited) / 1e6 || 0;
  } catch {
    return 0;
  }
}
