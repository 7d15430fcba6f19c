import { Circuit } from './circuit.ts';
import { type CircuitBreakerConfig, type CircuitLimits, limitsOf } from './circuit-breaker-config.ts';
import { CircuitTable } from './circuit-table.ts';

export type CircuitState = 'closed' | 'open' | 'half_open';

/** A reader belongs to no thread that changes anything. */
const READER = -1;

/** The circuit of a route on this node, for those who only look. */
export function circuitStateOf(
  memory: SharedArrayBuffer | null,
  routeId: string,
  config: CircuitBreakerConfig,
  nowMs: number,
): { readonly state: CircuitState /** 0 if it is closed. */; readonly openedAtMs: number } {
  const limits = limitsOf(config);
  const table = memory === null || !config.enabled ? null : new CircuitTable(memory, READER);
  const slot = table?.find(routeId, limits.digest) ?? null;
  if (table === null || slot === null || !table.isOpen(slot)) return { state: 'closed', openedAtMs: 0 };
  return { state: openStateOf(slot.fields, limits, nowMs), openedAtMs: Circuit.openedAtMs(slot.fields) };
}

/** While its time runs, an open circuit refuses everything; afterwards it is half-open until a probe was served. */
function openStateOf(fields: Float64Array, limits: CircuitLimits, nowMs: number): CircuitState {
  const next = Circuit.next(fields, limits, nowMs);
  return next === 'probe' || next === 0 ? 'half_open' : 'open';
}
