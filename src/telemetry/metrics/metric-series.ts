/** Granularity of traffic metrics. */
export type MetricsLevel = 'route' | 'edge' | 'process';

/** Labels of one group of series. */
export class SeriesLabels {
  readonly edge: string;
  readonly route: string;
  /** Its edge or route was deleted with its series: a request that ends late must not recreate them. */
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
export class MetricSeries {
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
