import { Gauge, type Registry } from 'prom-client';
import { routeRecord } from '../../../edges/record-kinds.ts';
import type { Clock } from '../../../kit/clock.ts';
import type { Module } from '../../../modules/contract/module.ts';
import type { WatchedState } from '../../../modules/contract/prepare.ts';
import { moduleOfRoutes } from '../../../modules/module-config.ts';
import type { Replica } from '../../../store/replica/replica.ts';
import type { NodeMemories } from './module-runtimes.ts';

type WatchingModule = Module & { readonly watched: WatchedState };

interface WatchedRoute {
  readonly edgeId: string;
  readonly routeId: string;
  readonly isOn: boolean;
}

interface WatchedStatesOptions {
  readonly modules: readonly Module[];
  readonly replica: Pick<Replica, 'all' | 'get'>;
  readonly memories: NodeMemories;
  readonly clock: Clock;
}

/** The states of configured routes on this node that modules have watched, for metrics and alerts. */
export class WatchedStates {
  readonly #modules: readonly WatchingModule[];
  readonly #options: WatchedStatesOptions;

  constructor(options: WatchedStatesOptions) {
    this.#modules = options.modules.filter((module): module is WatchingModule => module.watched !== undefined);
    this.#options = options;
  }

  *#routes({ name, watched }: WatchingModule): Iterable<WatchedRoute> {
    const { replica, memories, clock } = this.#options;
    const ports = { memory: memories.get(name) ?? null, nowMs: clock.nowMs() };
    for (const { doc, parent } of moduleOfRoutes(replica, name)) {
      const route = parent === null ? undefined : routeRecord(replica, parent);
      if (route === undefined || doc['enabled'] === false) continue;
      const place = { kind: route.kind, edgeId: route.parent ?? '', routeId: route.id };
      yield { ...place, isOn: watched.isOn(doc, place, ports) };
    }
  }

  /** Ids of the routes on which the state of this alert is on. */
  routesIn(code: string): readonly string[] {
    return this.#modules
      .filter(({ watched }) => watched.alert?.code === code)
      .flatMap((module) => Array.from(this.#routes(module)).filter(({ isOn }) => isOn))
      .map(({ routeId }) => routeId);
  }

  addMetrics(registry: Registry): void {
    for (const module of this.#modules) {
      const routes = (): Iterable<WatchedRoute> => this.#routes(module);
      new Gauge({
        ...module.watched.gauge,
        labelNames: ['edge', 'route'],
        registers: [registry],
        collect() {
          this.reset();
          for (const { edgeId, routeId, isOn } of routes()) this.labels(edgeId, routeId).set(Number(isOn));
        },
      });
    }
  }
}
