import { Counter, type Registry } from 'prom-client';

const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5] as const;
const SECONDS_METRIC = 'postern_api_request_duration_seconds';

interface OperationCounts {
  readonly byStatus: Map<number, number>;
  /** One more than there are bounds: the last bucket is the overflow. */
  readonly buckets: Float64Array;
  sum: number;
}

/**
 * API requests by operation and status. Counted in plain numbers and turned into metrics when scraped: the library's
 * own histogram costs as much per request as the lookup itself.
 */
export class ApiMetrics {
  readonly #operations = new Map<string, OperationCounts>();

  constructor(registry: Registry) {
    const operations = this.#operations;
    new Counter({
      name: 'postern_api_requests_total',
      help: 'Requests to the management API, by operation and status.',
      labelNames: ['operation', 'status'],
      registers: [registry],
      collect() {
        this.reset();
        for (const [operation, { byStatus }] of operations) {
          for (const [status, count] of byStatus) this.inc({ operation, status: String(status) }, count);
        }
      },
    });
    registry.registerMetric({
      name: SECONDS_METRIC,
      help: 'Time from the request to its response, by operation.',
      type: 'histogram',
      aggregator: 'sum',
      get: () => Promise.resolve(this.#secondsMetric()),
      // biome-ignore lint/suspicious/noExplicitAny: the registry takes anything with a name and get(), its type says less
    } as any);
  }

  observe(operation: string, status: number, seconds: number): void {
    let counts = this.#operations.get(operation);
    if (counts === undefined) {
      counts = { byStatus: new Map(), buckets: new Float64Array(BUCKETS.length + 1), sum: 0 };
      this.#operations.set(operation, counts);
    }
    counts.byStatus.set(status, (counts.byStatus.get(status) ?? 0) + 1);
    let bucket = 0;
    while (bucket < BUCKETS.length && seconds > (BUCKETS[bucket] as number)) bucket += 1;
    counts.buckets[bucket] = (counts.buckets[bucket] ?? 0) + 1;
    counts.sum += seconds;
  }

  #secondsMetric(): object {
    const values = [...this.#operations].flatMap(([operation, { buckets, sum }]) => {
      let count = 0;
      const cumulative = [...buckets].map((inBucket, index) => {
        count += inBucket;
        return {
          metricName: `${SECONDS_METRIC}_bucket`,
          labels: { le: BUCKETS[index] ?? '+Inf', operation },
          value: count,
        };
      });
      return [
        ...cumulative,
        { metricName: `${SECONDS_METRIC}_sum`, labels: { operation }, value: sum },
        { metricName: `${SECONDS_METRIC}_count`, labels: { operation }, value: count },
      ];
    });
    return {
      name: SECONDS_METRIC,
      help: 'Time from the request to its response, by operation.',
      type: 'histogram',
      aggregator: 'sum',
      values,
    };
  }
}
