import { Gauge, type Registry } from 'prom-client';
import { routeRecord } from '../../../edges/record-kinds.ts';
import type { Clock } from '../../../kit/clock.ts';
import type { CircuitBreakerConfig } from '../../../modules/circuit_breaker/circuit-breaker-config.ts';
import { circuitStateOf } from '../../../modules/circuit_breaker/circuit-table.ts';
import { moduleOfRoutes } from '../../../modules/module-config.ts';
import type { Replica } from '../../../store/replica/replica.ts';
import type { NodeMemories } from './module-runtimes.ts';

const MODULE = 'circuit_breaker';

interface RouteCircuit {
  readonly edgeId: string;
  readonly routeId: string;
  readonly isOpen: boolean;
}

/** The circuits of configured routes on this node, for those who watch them. */
export class Circuits {
  readonly #replica: Pick<Replica, 'all' | 'get'>;
  readonly #memory: SharedArrayBuffer | null;
  readonly #clock: Clock;

  constructor(replica: Pick<Replica, 'all' | 'get'>, memories: NodeMemories, clock: Clock) {
    this.#replica = replica;
    this.#memory = memories.get(MODULE) ?? null;
    this.#clock = clock;
  }

  *all(): Iterable<RouteCircuit> {
    const nowMs = this.#clock.nowMs();
    for (const { doc, parent } of moduleOfRoutes(this.#replica, MODULE)) {
      const route = parent === null ? undefined : routeRecord(this.#replica, parent);
      if (route === undefined || doc['enabled'] === false) continue;
      const config = doc as unknown as CircuitBreakerConfig;
      const { state } = circuitStateOf(this.#memory, route.id, config, nowMs);
      yield { edgeId: route.parent ?? '', routeId: route.id, isOpen: state !== 'closed' };
    }
  }

  /** Ids of routes. */
  open(): readonly string[] {
    return Array.from(this.all())
      .filter(({ isOpen }) => isOpen)
      .map(({ routeId }) => routeId);
  }

  addMetrics(registry: Registry): void {
    const all = (): Iterable<RouteCircuit> => this.all();
    new Gauge({
      name: 'postern_circuit_open',
      help: 'Whether the circuit breaker of a route refuses requests on this node: 1 while it is open or half-open.',
      labelNames: ['edge', 'route'],
      registers: [registry],
      collect() {
        this.reset();
        for (const { edgeId, routeId, isOpen } of all()) this.labels(edgeId, routeId).set(Number(isOpen));
      },
    });
  }
}
