/** The only source of time in product code, so that tests can control it. */
export interface Clock {
  nowMs(): number;
  /** Milliseconds that it adds to the clock of the machine, for other threads. Absent: nobody has set it. */
  readonly sharedOffset?: SharedArrayBuffer;
}

export const systemClock: Clock = { nowMs: () => Date.now() };

/** ECMA-262: the last time that there is. */
const LAST_MS = 8.64e15;
const MS_DIGITS_AND_ZONE = 4;
let knownSecond = -1;
/** Text of the last second, up to its point. */
let knownText = '';

/** Times of one second share most of their text: a `Date` for each was a sixth of the cost of a live view. */
export function rfc3339(ms: number): string {
  if (!(ms >= 0 && ms <= LAST_MS)) return new Date(ms).toISOString();
  const second = Math.floor(ms / 1000);
  if (second !== knownSecond) {
    knownText = new Date(second * 1000).toISOString().slice(0, -MS_DIGITS_AND_ZONE);
    knownSecond = second;
  }
  return `${knownText}${String(Math.trunc(ms) - second * 1000).padStart(3, '0')}Z`;
}
