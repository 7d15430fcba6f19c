import { Counter, Histogram, type Registry } from 'prom-client';

/** Requests of the API by operation and status. Children are kept: looking one up by labels costs more than counting. */
export class ApiMetrics {
  readonly #requests: Counter<'operation' | 'status'>;
  readonly #seconds: Histogram<'operation'>;
  readonly #requestChildren = new Map<string, { inc(): void }>();
  readonly #secondsChildren = new Map<string, { observe(value: number): void }>();

  constructor(registry: Registry) {
    this.#requests = new Counter({
      name: 'postern_api_requests_total',
      help: 'Requests to the management API, by operation and status.',
      labelNames: ['operation', 'status'],
      registers: [registry],
    });
    this.#seconds = new Histogram({
      name: 'postern_api_request_seconds',
      help: 'Time from the request to its answer, by operation.',
      labelNames: ['operation'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
      registers: [registry],
    });
  }

  observe(operation: string, status: number, seconds: number): void {
    const key = `${operation} ${status}`;
    let requests = this.#requestChildren.get(key);
    if (requests === undefined) {
      requests = this.#requests.labels(operation, String(status));
      this.#requestChildren.set(key, requests);
    }
    requests.inc();
    let histogram = this.#secondsChildren.get(operation);
    if (histogram === undefined) {
      histogram = this.#seconds.labels(operation);
      this.#secondsChildren.set(operation, histogram);
    }
    histogram.observe(seconds);
  }
}
