/** The only way product code learns the time, so that tests can move it. */
export interface Clock {
  nowMs(): number;
}

export const systemClock: Clock = { nowMs: () => Date.now() };

export function rfc3339(ms: number): string {
  return new Date(ms).toISOString();
}
