import Type from 'typebox';
import { rfc3339 } from '../../kit/clock.ts';
import type { TrafficRequest } from '../contract/decides.ts';
import type { ModuleRuntime, RuntimePorts } from '../contract/keeps-state.ts';
import type { ModuleEvent, PreparePorts } from '../contract/prepare.ts';
import type { BackendOutcome } from '../contract/prepared-module.ts';
import { type Admission, Circuit } from './circuit.ts';
import { type CircuitLimits, clientOf } from './circuit-breaker-config.ts';
import { CircuitTable, type Slot } from './circuit-table.ts';

const CIRCUIT_OPENED = 'circuit_opened.v0';
const CIRCUIT_CLOSED = 'circuit_closed.v0';

const place = {
  edge_id: Type.String({ description: 'Id of the edge.' }),
  route_id: Type.String({ description: 'Id of the route.' }),
};

export const circuitEvents: readonly ModuleEvent[] = [
  {
    type: CIRCUIT_OPENED,
    description: 'The circuit breaker of a route opened on a node: its backend fails.',
    object: Type.Object({ ...place, opened_at: Type.String({ description: 'When it opened.' }) }),
  },
  {
    type: CIRCUIT_CLOSED,
    description: 'The circuit breaker of a route closed on a node.',
    object: Type.Object({
      ...place,
      closed_at: Type.String({ description: 'When it closed.' }),
      cause: Type.Enum(['probe', 'configuration'], {
        description:
          'Why it closed: "probe" if the backend served a request again, "configuration" if the module was changed, disabled or deleted.',
      }),
    }),
  },
];

type Place = PreparePorts['place'];

/** A route's circuit, as this thread uses it. */
export interface HeldCircuit {
  readonly place: Place;
  readonly table: CircuitTable;
  readonly slot: Slot;
  readonly circuit: Circuit;
}

interface Probe {
  readonly held: HeldCircuit;
  readonly number: number;
}

/** The circuits that this thread uses, by edge and route. */
export class CircuitBreakerRuntime implements ModuleRuntime {
  readonly #ports: RuntimePorts;
  readonly #memory: SharedArrayBuffer;
  readonly #table: CircuitTable;
  readonly #count: (to: string) => void;
  readonly #held = new Map<string, Map<string, HeldCircuit>>();
  readonly #prepared = new Map<string, number>();
  readonly #probes = new WeakMap<TrafficRequest, Probe>();
  #hasWarned = false;

  constructor(ports: RuntimePorts) {
    const { memory, thread } = ports.nodeMemory();
    this.#ports = ports;
    this.#memory = memory;
    this.#table = new CircuitTable(memory, thread);
    this.#count = ports.counter({
      name: 'postern_circuit_breaker_changes_total',
      help: 'Circuits that have opened or closed, by what they became.',
      label: 'to',
    });
  }

  get nowMs(): number {
    return this.#ports.clock.nowMs();
  }

  /** What the node has; for questions without effect. */
  get memory(): SharedArrayBuffer {
    return this.#memory;
  }

  /** A version of the configuration is about to be served. */
  prepared({ routeId }: Place, { digest }: CircuitLimits): void {
    this.#prepared.set(routeId ?? '', digest);
  }

  hold(place: Place, limits: CircuitLimits): HeldCircuit {
    const { edgeId } = place;
    const routeId = place.routeId ?? '';
    const held = this.#claim(place, limits);
    this.#startAgainIfChanged(held, limits.digest);
    let ofEdge = this.#held.get(edgeId);
    if (ofEdge === undefined) {
      ofEdge = new Map();
      this.#held.set(edgeId, ofEdge);
    }
    ofEdge.set(routeId, held);
    return held;
  }

  admit(held: HeldCircuit, request: TrafficRequest): Admission {
    const { table, slot, circuit } = held;
    if (!table.isOpen(slot)) return 'pass';
    const client = clientOf(request);
    const admission = table.change(slot, () =>
      table.isOpen(slot) ? circuit.admitWhileOpen(this.nowMs, client) : ('pass' as const),
    );
    if (admission === null || admission === 'pass') return 'pass';
    if ('probe' in admission) this.#probes.set(request, { held, number: admission.probe });
    return admission;
  }

  settled(held: HeldCircuit, request: TrafficRequest, outcome: BackendOutcome): void {
    const probe = this.#probes.get(request);
    if (probe !== undefined) this.#probes.delete(request);
    const { table, slot, circuit } = probe?.held ?? held;
    if (outcome === 'none' && probe === undefined) return;
    const changed = table.change(slot, (): 'opened' | 'closed' | null => {
      const { nowMs } = this;
      if (circuit.isFromBefore(request.nowMs, nowMs)) return null;
      if (!table.isOpen(slot)) {
        if (!circuit.settleWhileClosed(outcome, nowMs)) return null;
        table.setOpen(slot, true);
        return 'opened';
      }
      if (probe === undefined || !circuit.settleProbe(probe.number, outcome, nowMs)) return null;
      table.setOpen(slot, false);
      return 'closed';
    });
    if (changed === 'opened') this.#opened(probe?.held ?? held);
    if (changed === 'closed') this.#closed(probe?.held ?? held, 'probe');
  }

  edgeChanged(edgeId: string, routeIds: ReadonlySet<string>): void {
    const ofEdge = this.#held.get(edgeId);
    if (ofEdge === undefined) return;
    for (const [routeId, held] of ofEdge) {
      if (routeIds.has(routeId)) {
        this.#startAgainIfChanged(held, this.#prepared.get(routeId) ?? 0);
        continue;
      }
      if (this.#close(held)) this.#closed(held, 'configuration');
      held.table.free(held.slot);
      ofEdge.delete(routeId);
      this.#prepared.delete(routeId);
    }
    if (ofEdge.size === 0) this.#held.delete(edgeId);
  }

  async close(): Promise<void> {}

  #claim(place: Place, limits: CircuitLimits): HeldCircuit {
    const routeId = place.routeId ?? '';
    const slot = this.#table.claim(routeId, limits.digest);
    if (slot !== null) return { place, table: this.#table, slot, circuit: new Circuit(slot.fields, limits) };
    if (!this.#hasWarned)
      this.#ports.log.warn({ route: routeId }, 'too many routes have a circuit breaker: each thread counts for itself');
    this.#hasWarned = true;
    const table = new CircuitTable(CircuitTable.memory(1), 0);
    const own = table.claim(routeId, limits.digest) as Slot;
    return { place, table, slot: own, circuit: new Circuit(own.fields, limits) };
  }

  /** The circuit of another configuration is not this one's. */
  #startAgainIfChanged(held: HeldCircuit, digest: number): void {
    const { table, slot } = held;
    if (table.digestOf(slot) === digest) return;
    const wasOpen = table.change(slot, () => {
      if (table.digestOf(slot) === digest) return false;
      const isOpen = table.isOpen(slot);
      Circuit.clear(slot.fields, this.nowMs);
      table.setOpen(slot, false);
      table.setDigest(slot, digest);
      return isOpen;
    });
    if (wasOpen === true) this.#closed(held, 'configuration');
  }

  #close({ table, slot }: HeldCircuit): boolean {
    const wasOpen = table.change(slot, () => {
      const isOpen = table.isOpen(slot);
      table.setOpen(slot, false);
      return isOpen;
    });
    return wasOpen === true;
  }

  #opened({ place, slot }: HeldCircuit): void {
    this.#count('open');
    this.#ports.log.warn({ edge: place.edgeId, route: place.routeId }, 'a circuit opened: its backend fails');
    this.#ports.event(CIRCUIT_OPENED, { ...idsOf(place), opened_at: rfc3339(Circuit.openedAtMs(slot.fields)) });
  }

  #closed({ place }: HeldCircuit, cause: 'probe' | 'configuration'): void {
    this.#count('closed');
    this.#ports.log.info({ edge: place.edgeId, route: place.routeId, cause }, 'a circuit closed');
    this.#ports.event(CIRCUIT_CLOSED, { ...idsOf(place), closed_at: rfc3339(this.nowMs), cause });
  }
}

function idsOf({ edgeId, routeId }: Place): { readonly edge_id: string; readonly route_id: string | null } {
  return { edge_id: edgeId, route_id: routeId };
}
