/** The only source of time in product code, so that tests can control it. */
export interface Clock {
  nowMs(): number;
}

export const systemClock: Clock = { nowMs: () => Date.now() };

export function rfc3339(ms: number): string {
  return new Date(ms).toISOString();
}
