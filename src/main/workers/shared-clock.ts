import type { Clock } from '../../lib/clock.ts';

/** The clock of the installation, in a thread that only knows how far it is from the clock of the machine. */
export function sharedClock(sharedOffset: SharedArrayBuffer): Clock {
  const offset = new Float64Array(sharedOffset);
  return { nowMs: () => Date.now() + (offset[0] ?? 0), sharedOffset };
}

export function newClockOffset(): SharedArrayBuffer {
  return new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT);
}

export function publishOffset(clock: Clock, sharedOffset: SharedArrayBuffer): void {
  new Float64Array(sharedOffset)[0] = clock.nowMs() - Date.now();
}
