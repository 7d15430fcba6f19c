import {
  Counter,
  type CounterConfiguration,
  Gauge,
  Histogram,
  type HistogramConfiguration,
  type Registry,
} from 'prom-client';
import { TUNNEL_BACKEND_KIND } from '../../../backends/backend.ts';
import type { EdgeSnapshot, RouteSnapshot } from '../../snapshot/edge-snapshot.ts';
import type { RawConnectionFacts } from '../traffic-facts.ts';

/** One series. */
interface CounterSeries {
  value: number;
}

interface LabeledSeries<Label extends string> extends CounterSeries {
  readonly labels: Record<Label, string>;
}

/**
 * A counter for every request. prom-client finds the series of each increment by a text of all its labels: three of
 * them took 2 µs per request. Here its users keep their series.
 */
export class DirectCounter<Label extends string> extends Counter<Label> {
  readonly #labelNames: readonly Label[];
  readonly #series = new Map<string, LabeledSeries<Label>>();

  constructor(configuration: CounterConfiguration<Label> & { readonly labelNames: readonly Label[] }) {
    super(configuration);
    this.#labelNames = configuration.labelNames;
  }

  /** `values`: of all labels, in order. */
  series(...values: string[]): CounterSeries {
    const key = values.join('\n');
    let series = this.#series.get(key);
    if (series === undefined) {
      const labels = Object.fromEntries(this.#labelNames.map((name, at) => [name, values[at] ?? '']));
      series = { value: 0, labels: labels as Record<Label, string> };
      this.#series.set(key, series);
    }
    return series;
  }

  removeSeries(...values: string[]): void {
    this.#series.delete(values.join('\n'));
  }

  override async get(): ReturnType<Counter<Label>['get']> {
    return { ...(await super.get()), values: [...this.#series.values()] };
  }
}

/** One series. */
class HistogramSeries {
  readonly #bounds: readonly number[];
  /** One more than bounds: the last one is beyond all of them. */
  readonly #counts: number[];
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Array<number>(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    let at = 0;
    while (at < this.#bounds.length && value > (this.#bounds[at] as number)) at += 1;
    (this.#counts[at] as number) += 1;
    this.#sum += value;
  }

  get sum(): number {
    return this.#sum;
  }

  /** How many values are at most as large as each bound, and how many there are. */
  cumulative(): readonly number[] {
    let sum = 0;
    return this.#counts.map((count) => {
      sum += count;
      return sum;
    });
  }
}

interface Labeled {
  readonly labels: Readonly<Record<string, string>>;
  readonly series: HistogramSeries;
}

/** A histogram for every request: see `DirectCounter`. */
export class DirectHistogram<Label extends string> extends Histogram<Label> {
  readonly #configuration: { readonly name: string; readonly help: string };
  readonly #labelNames: readonly Label[];
  readonly #bounds: readonly number[];
  readonly #series = new Map<string, Labeled>();

  constructor(
    configuration: HistogramConfiguration<Label> & {
      readonly labelNames: readonly Label[];
      readonly buckets: readonly number[];
    },
  ) {
    super(configuration);
    this.#configuration = configuration;
    this.#labelNames = configuration.labelNames;
    this.#bounds = [...configuration.buckets];
  }

  /** `values`: of all labels, in order. */
  series(...values: string[]): HistogramSeries {
    const key = values.join('\n');
    let known = this.#series.get(key);
    if (known === undefined) {
      const labels = Object.fromEntries(this.#labelNames.map((name, at) => [name, values[at] ?? '']));
      known = { labels, series: new HistogramSeries(this.#bounds) };
      this.#series.set(key, known);
    }
    return known.series;
  }

  removeSeries(...values: string[]): void {
    this.#series.delete(values.join('\n'));
  }

  /** The library's own `get`, and its text, are made from this. */
  async getForPromString() {
    const { name, help } = this.#configuration;
    const values = [...this.#series.values()].flatMap((one) => this.#lines(name, one));
    return { name, help, type: 'histogram', values, aggregator: 'sum' };
  }

  #lines(name: string, { labels, series }: Labeled) {
    const counts = series.cumulative();
    const all = counts.at(-1) ?? 0;
    const line = (suffix: string, value: number, own: object = {}) => ({
      metricName: `${name}_${suffix}`,
      labels: own,
      sharedLabels: labels,
      value,
    });
    return [
      ...this.#bounds.map((le, at) => line('bucket', counts[at] ?? 0, { le })),
      line('bucket', all, { le: '+Inf' }),
      line('sum', series.sum),
      line('count', all),
    ];
  }
}

/** Granularity of traffic metrics. */
type MetricsLevel = 'route' | 'edge' | 'process';

/** Labels of one group of series. */
class SeriesLabels {
  readonly edge: string;
  readonly route: string;
  /** The edge or route was deleted with its series: a request that ends late must not recreate them. */
  isGone = false;
  /** By metric name, so that each has one entry. */
  readonly removals = new Map<string, () => void>();

  constructor(edge: string, route: string) {
    this.edge = edge;
    this.route = route;
  }
}

/** Number of deleted routes that are remembered for requests that outlive them. */
const MAX_REMEMBERED = 10_000;

/** The series of /metrics about traffic, at the configured level, and their removal with what they count. */
class MetricSeries {
  readonly none = new SeriesLabels('', '');
  /** Endpoints of agents come and go by the thousand: one series for all of them. */
  readonly ephemeral = new SeriesLabels('ephemeral', '');
  readonly #level: MetricsLevel;
  readonly #byEdge = new Map<string, Map<string, SeriesLabels>>();
  readonly #gone = new Set<string>();

  constructor(level: MetricsLevel) {
    this.#level = level;
  }

  of({ edgeId, id }: { readonly edgeId: string; readonly id: string }): SeriesLabels {
    if (this.#level === 'process' || this.#gone.has(edgeId) || this.#gone.has(id)) return this.none;
    const route = this.#level === 'route' ? id : '';
    let routes = this.#byEdge.get(edgeId);
    if (routes === undefined) {
      routes = new Map();
      this.#byEdge.set(edgeId, routes);
    }
    let labels = routes.get(route);
    if (labels === undefined) {
      labels = new SeriesLabels(edgeId, route);
      routes.set(route, labels);
    }
    return labels;
  }

  /** `routeIds` null: the whole edge was deleted. */
  keepOnly(edgeId: string, routeIds: ReadonlySet<string> | null): void {
    const routes = this.#byEdge.get(edgeId);
    for (const [route, labels] of routes ?? []) {
      if (routeIds !== null && (route === '' || routeIds.has(route))) continue;
      routes?.delete(route);
      labels.isGone = true;
      for (const remove of labels.removals.values()) remove();
      if (route !== '') this.#remember(route);
    }
    if (routeIds !== null) return;
    this.#byEdge.delete(edgeId);
    this.#remember(edgeId);
  }

  #remember(id: string): void {
    this.#gone.add(id);
    if (this.#gone.size <= MAX_REMEMBERED) return;
    for (const oldest of this.#gone) {
      this.#gone.delete(oldest);
      return;
    }
  }
}

interface RouteCounters {
  readonly labels: SeriesLabels;
  readonly seconds: HistogramSeries;
  readonly bytesIn: CounterSeries;
  readonly bytesOut: CounterSeries;
  /** By status. */
  readonly requests: Map<number, CounterSeries>;
}

/** What is counted of a finished request. */
interface FinishedRequest {
  readonly route: RouteSnapshot | null;
  readonly status: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly refusedBy: string | null;
  readonly answeredBy: string | null;
}

export interface LiveCounts {
  requests(): number;
  streams(): number;
  connections(): number;
}

/**
 * Traffic by edge and route. The series are kept per version of a route: looking one up by labels costs more than
 * counting.
 */
export class EdgeMetrics {
  readonly #requests: DirectCounter<'edge' | 'route' | 'status'>;
  readonly #seconds: DirectHistogram<'edge' | 'route'>;
  readonly #bytesIn: DirectCounter<'edge' | 'route'>;
  readonly #bytesOut: DirectCounter<'edge' | 'route'>;
  readonly #refused: Counter<'edge' | 'route' | 'module' | 'reason'>;
  readonly #answered: Counter<'edge' | 'route' | 'module' | 'reason'>;
  readonly #failures: Counter<'phase' | 'reason'>;
  readonly #handshakes: Counter<'reason'>;
  readonly #challenges: Counter<'type'>;
  readonly #unchecked: Counter;
  readonly #sessions: Counter<'reason'>;
  readonly #overload: Counter<'limit'>;
  readonly #rawConnections: Gauge<'proto'>;
  readonly #rawClosed: Counter<'proto' | 'outcome'>;
  readonly #rawBytes: Counter<'proto' | 'direction'>;
  readonly #counters = new WeakMap<object, RouteCounters>();
  readonly #series: MetricSeries;

  constructor(registry: Registry, live: LiveCounts, level: MetricsLevel = 'route') {
    this.#series = new MetricSeries(level);
    const registers = [registry];
    const perRoute = ['edge', 'route'] as const;
    this.#requests = new DirectCounter({
      name: 'postern_edge_requests_total',
      help: 'Requests, by edge, route and status.',
      labelNames: [...perRoute, 'status'],
      registers,
    });
    this.#seconds = new DirectHistogram({
      name: 'postern_edge_request_duration_seconds',
      help: 'Time from the head of a request to the end of its response.',
      labelNames: perRoute,
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60],
      registers,
    });
    this.#bytesIn = new DirectCounter({
      name: 'postern_edge_request_bytes_total',
      help: 'Bytes of request bodies.',
      labelNames: perRoute,
      registers,
    });
    this.#bytesOut = new DirectCounter({
      name: 'postern_edge_response_bytes_total',
      help: 'Bytes of response bodies.',
      labelNames: perRoute,
      registers,
    });
    this.#refused = new Counter({
      name: 'postern_edge_refused_total',
      help: 'Requests that were rejected or cut off, by module and reason.',
      labelNames: [...perRoute, 'module', 'reason'],
      registers,
    });
    this.#answered = new Counter({
      name: 'postern_edge_answered_total',
      help: 'Requests that a module redirected, by module and reason.',
      labelNames: [...perRoute, 'module', 'reason'],
      registers,
    });
    this.#failures = new Counter({
      name: 'postern_edge_upstream_failures_total',
      help: 'Failed attempts to reach an upstream.',
      labelNames: ['phase', 'reason'],
      registers,
    });
    this.#handshakes = new Counter({
      name: 'postern_edge_handshake_failures_total',
      help: 'Failed TLS handshakes, by reason.',
      labelNames: ['reason'],
      registers,
    });
    this.#challenges = new Counter({
      name: 'postern_edge_acme_challenges_total',
      help: 'Answered validations of ACME servers, by type of challenge.',
      labelNames: ['type'],
      registers,
    });
    this.#unchecked = new Counter({
      name: 'postern_edge_unchecked_client_certificates_total',
      help: 'Client certificates accepted without a check for revocation, because the list is missing or stale and crl_mode is soft.',
      registers,
    });
    this.#sessions = new Counter({
      name: 'postern_edge_http2_errors_total',
      help: "HTTP/2 client connections closed because of a protocol error, by the runtime's error code.",
      labelNames: ['reason'],
      registers,
    });
    this.#overload = new Counter({
      name: 'postern_edge_overload_refusals_total',
      help: 'Requests rejected because of overload, by the limit that was reached.',
      labelNames: ['limit'],
      registers,
    });
    this.#rawConnections = new Gauge({
      name: 'postern_edge_tunnel_connections',
      help: 'Open client connections of TCP and TLS tunnels.',
      labelNames: ['proto'],
      registers,
    });
    this.#rawClosed = new Counter({
      name: 'postern_edge_tunnel_connections_total',
      help: 'Finished client connections of TCP and TLS tunnels, by result.',
      labelNames: ['proto', 'outcome'],
      registers,
    });
    this.#rawBytes = new Counter({
      name: 'postern_edge_tunnel_bytes_total',
      help: 'Bytes of finished client connections of TCP and TLS tunnels, from clients (in) and to clients (out).',
      labelNames: ['proto', 'direction'],
      registers,
    });
    new Gauge({
      name: 'postern_edge_requests_in_flight',
      help: 'Requests whose response has not begun.',
      registers,
      collect() {
        this.set(live.requests());
      },
    });
    new Gauge({
      name: 'postern_edge_streams_in_flight',
      help: 'Responses in progress and WebSockets.',
      registers,
      collect() {
        this.set(live.streams());
      },
    });
    new Gauge({
      name: 'postern_edge_connections',
      help: 'Open client connections.',
      registers,
      collect() {
        this.set(live.connections());
      },
    });
  }

  finished(exchange: FinishedRequest, seconds: number): void {
    const counters = this.#of(exchange.route);
    const requests = counters.requests.get(exchange.status) ?? this.#newStatus(counters, exchange);
    requests.value += 1;
    counters.seconds.observe(seconds);
    counters.bytesIn.value += exchange.bytesIn;
    counters.bytesOut.value += exchange.bytesOut;
    const { refusedBy, answeredBy } = exchange;
    if (refusedBy !== null) count(this.#refused, counters.labels, refusedBy);
    if (answeredBy !== null) count(this.#answered, counters.labels, answeredBy);
  }

  /** Removes the series of deleted routes. */
  edgeSwapped(edgeId: string, now: EdgeSnapshot | null): void {
    this.#series.keepOnly(edgeId, now === null ? null : new Set(Array.from(now.routes.all, ({ id }) => id)));
  }

  upstreamFailed(phase: string, reason: string): void {
    this.#failures.labels(phase, reason).inc();
  }

  handshakeFailed(reason: string): void {
    this.#handshakes.labels(reason).inc();
  }

  challengeAnswered(type: string): void {
    this.#challenges.labels(type).inc();
  }

  clientCertificateUnchecked(): void {
    this.#unchecked.inc();
  }

  sessionFailed(reason: string): void {
    this.#sessions.labels(reason).inc();
  }

  overloaded(limit: string): void {
    this.#overload.labels(limit).inc();
  }

  rawOpened(proto: RawConnectionFacts['proto']): void {
    this.#rawConnections.labels(proto).inc();
  }

  rawClosed({ proto, outcome, bytesIn, bytesOut }: RawConnectionFacts): void {
    this.#rawConnections.labels(proto).dec();
    this.#rawClosed.labels(proto, outcome).inc();
    this.#rawBytes.labels(proto, 'in').inc(bytesIn);
    this.#rawBytes.labels(proto, 'out').inc(bytesOut);
  }

  /** Requests that could not be parsed belong to no route. */
  unread(status: number, reason: string): void {
    this.#requests.series('', '', String(status)).value += 1;
    this.#refused.labels('', '', 'edge', reason).inc();
  }

  #newStatus(counters: RouteCounters, exchange: FinishedRequest): CounterSeries {
    const { labels } = counters;
    const status = String(exchange.status);
    const series = this.#requests.series(labels.edge, labels.route, status);
    counters.requests.set(exchange.status, series);
    labels.removals.set(`status ${status}`, () => this.#requests.removeSeries(labels.edge, labels.route, status));
    return series;
  }

  #of(route: RouteSnapshot | null): RouteCounters {
    const known = this.#counters.get(route ?? this);
    if (known !== undefined && !known.labels.isGone) return known;
    const labels = this.#labelsOf(route);
    const { edge, route: routeLabel } = labels;
    const made: RouteCounters = {
      labels,
      seconds: this.#seconds.series(edge, routeLabel),
      bytesIn: this.#bytesIn.series(edge, routeLabel),
      bytesOut: this.#bytesOut.series(edge, routeLabel),
      requests: new Map(),
    };
    labels.removals.set('route', () => {
      for (const metric of [this.#seconds, this.#bytesIn, this.#bytesOut]) metric.removeSeries(edge, routeLabel);
    });
    this.#counters.set(route ?? this, made);
    return made;
  }

  #labelsOf(route: RouteSnapshot | null): SeriesLabels {
    if (route === null) return this.#series.none;
    return route.backend?.kind === TUNNEL_BACKEND_KIND ? this.#series.ephemeral : this.#series.of(route);
  }
}

/** By a module and its reason. The series ends with its route. */
function count(counter: Counter<'edge' | 'route' | 'module' | 'reason'>, labels: SeriesLabels, by: string): void {
  const [module = '', reason = ''] = by.split(':');
  const { edge, route } = labels;
  counter.labels(edge, route, module, reason).inc();
  const { name } = counter as unknown as { readonly name: string };
  labels.removals.set(`${name} ${by}`, () => counter.remove(edge, route, module, reason));
}
