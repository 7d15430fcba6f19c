import { Circuit } from './circuit.ts';
import { type CircuitBreakerConfig, type CircuitLimits, limitsOf } from './circuit-breaker-config.ts';
import { CircuitTable } from './circuit-table.ts';

export type CircuitState = 'closed' | 'open' | 'half_open';

/** A reader belongs to no thread that changes anything. */
const READER = -1;

/** What a request of a client to a route would get now, for those who only look: pass, be a probe, or come back after so many milliseconds. */
export function nextOf(
  memory: SharedArrayBuffer,
  routeId: string,
  limits: CircuitLimits,
  nowMs: number,
  client: number | null,
): { readonly next: 'pass' | 'probe' | number /** 0 if it is closed. */; readonly openedAtMs: number } {
  const table = new CircuitTable(memory, READER);
  const slot = table.find(routeId, limits.digest);
  if (slot === null || !table.isOpen(slot)) return { next: 'pass', openedAtMs: 0 };
  return { next: Circuit.next(slot.fields, limits, nowMs, client), openedAtMs: Circuit.openedAtMs(slot.fields) };
}

/** While its time runs, an open circuit refuses everything; afterwards it is half-open until a probe was served. */
export function circuitStateOf(
  memory: SharedArrayBuffer | null,
  routeId: string,
  config: CircuitBreakerConfig,
  nowMs: number,
): { readonly state: CircuitState; readonly openedAtMs: number } {
  if (memory === null || !config.enabled) return { state: 'closed', openedAtMs: 0 };
  const { next, openedAtMs } = nextOf(memory, routeId, limitsOf(config), nowMs, null);
  if (next === 'pass') return { state: 'closed', openedAtMs };
  return { state: next === 'probe' || next === 0 ? 'half_open' : 'open', openedAtMs };
}
