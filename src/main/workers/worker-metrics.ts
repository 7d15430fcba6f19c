import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue, type Registry } from 'prom-client';
import type { WorkerThread } from './worker-thread.ts';

type Metrics = readonly MetricObjectWithValues<MetricValue<string>>[];

/**
 * Metrics of the main thread and of all workers, as one page. What a worker had counted when it ended stays part of the
 * sums, as far as it was shown: counters never fall.
 */
export class WorkerMetrics {
  readonly #shown = new Map<WorkerThread, Metrics>();
  #ofEnded: Metrics = [];

  async page(registry: Registry, workers: readonly WorkerThread[]): Promise<string> {
    await Promise.allSettled(
      workers.map(async (worker) => {
        const metrics = (await worker.calls.call('metrics')) as Metrics;
        if (worker.state !== 'ended') this.#shown.set(worker, metrics);
      }),
    );
    const own = (await registry.getMetricsAsJSON()) as unknown as Metrics;
    return sumOf([own, this.#ofEnded, ...this.#shown.values()]).metrics();
  }

  async ended(worker: WorkerThread): Promise<void> {
    const last = this.#shown.get(worker);
    this.#shown.delete(worker);
    if (last === undefined) return;
    const counts = last.filter(({ type }) => String(type) !== 'gauge');
    this.#ofEnded = (await sumOf([this.#ofEnded, counts]).getMetricsAsJSON()) as unknown as Metrics;
  }

  /** The series of routes that no longer exist. */
  forget(edgeId: string, routeIds: ReadonlySet<string>): void {
    const isGone = ({ edge, route }: Partial<Record<string, string | number>>): boolean =>
      edge === edgeId && typeof route === 'string' && route !== '' && !routeIds.has(route);
    this.#ofEnded = this.#ofEnded.map((metric) => ({
      ...metric,
      values: metric.values.filter(({ labels }) => !isGone(labels)),
    }));
  }
}

function sumOf(all: readonly Metrics[]): Registry {
  return AggregatorRegistry.aggregate(all as never);
}
