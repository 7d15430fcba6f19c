import { Counter, type Registry } from 'prom-client';
import type { Operation } from '../resources/operation.ts';

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

interface AnsweredRequest {
  /** Undefined for public pages, and where no operation matched. */
  readonly operation: Operation | undefined;
  readonly operationId: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly apiKeyId: string | null;
  readonly startedAt: number;
}

export interface AnswerRecords {
  readonly metrics: ApiMetrics;
  /** Receives one line per request. */
  readonly requestLogger: { info(fields: object, message: string): void };
}

/** Counts and logs a request when its response is written. */
export function recordAnswer(answered: AnsweredRequest, { metrics, requestLogger }: AnswerRecords): void {
  const { operation, operationId, method, path, status, apiKeyId, startedAt } = answered;
  const name = operation === undefined ? 'none' : `${operation.resource}.${operation.verb}`;
  const seconds = (performance.now() - startedAt) / 1000;
  metrics.observe(name, status, seconds);
  if (operation === undefined && status < 400) return;
  const ms = Math.round(seconds * 1e5) / 100;
  requestLogger.info(
    { operation_id: operationId, operation: name, method, path, status, key_id: apiKeyId, ms },
    'request',
  );
}

export const OPEN_METRICS_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

const OPEN_METRICS = 'application/openmetrics-text';
const KNOWN_VERSIONS: ReadonlySet<string> = new Set(['', '1.0.0', '0.0.1']);

/** Whether the client wants OpenMetrics at least as much as the text format of Prometheus. */
export function prefersOpenMetrics(accept: string | undefined): boolean {
  let open = 0;
  let plain = 0;
  for (const item of (accept ?? '').split(',')) {
    const [type = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
    const parameter = (name: string): string =>
      parameters.find((each) => each.startsWith(`${name}=`))?.slice(name.length + 1) ?? '';
    const quality = parameter('q') === '' ? 1 : Number(parameter('q'));
    if (type === OPEN_METRICS && KNOWN_VERSIONS.has(parameter('version'))) open = Math.max(open, quality);
    else if (type === 'text/plain') plain = Math.max(plain, quality);
  }
  return open > 0 && open >= plain;
}

/**
 * The text format of Prometheus as OpenMetrics 1.0. The library's own form renames the counters of the registry for
 * good, and two families get one name where a gauge has the name of a counter without `_total`: such a counter is of
 * unknown type here.
 */
export function openMetricsText(prometheusText: string): string {
  const families = prometheusText.trimEnd().split('\n\n').map(familyOf);
  const gauges = new Set(families.filter(({ type }) => type !== 'counter').map(({ name }) => name));
  const texts = families.map((family) => familyText(family, gauges));
  return `${texts.join('\n')}\n# EOF\n`;
}

interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  /** With a line break before each. */
  readonly samples: string;
}

const FAMILY = /^# HELP (\S+) (.*)\n# TYPE \S+ (\S+)/;

function familyOf(text: string): Family {
  const [head = '', name = '', help = '', type = ''] = FAMILY.exec(text) ?? [];
  return { name, help, type, samples: text.slice(head.length) };
}

function familyText({ name, help, type, samples }: Family, others: ReadonlySet<string>): string {
  const stem = name.replace(/_total$/, '');
  const isClash = type === 'counter' && (stem === name || others.has(stem));
  const family = type === 'counter' && !isClash ? stem : name;
  const lines = [`# HELP ${family} ${help.replaceAll('"', '\\"')}`, `# TYPE ${family} ${isClash ? 'unknown' : type}`];
  return lines.join('\n') + canonical(samples, type);
}

/** Bounds of buckets are floating-point numbers in their shortest form with a point. */
function canonical(samples: string, type: string): string {
  const bounded = type === 'histogram' ? samples.replaceAll(/le="(\d+)"/g, 'le="$1.0"') : samples;
  return bounded.includes(' Nan') ? bounded.replaceAll(/ Nan$/gm, ' NaN') : bounded;
}
