import type { Clock } from '../../lib/clock.ts';
import { bucketOf, type Point, type Sample, StepRing } from './step-ring.ts';

export const SHORT_STEP_SECONDS = 10;
export const LONG_STEP_SECONDS = 60;
const SHORT_STEPS = 360;
const LONG_STEPS = 1440;
const MAX_ROUTES = 500;
/** Routes beyond the kept ones that are counted within a minute, to find those that became busy. */
const MAX_CANDIDATES = 10_000;
const JUDGE_EVERY_MS = 60_000;

export interface RouteIds {
  readonly routeId: string;
  readonly edgeId: string;
}

export interface RouteTotals extends RouteIds, Omit<Point, 'atMs'> {}

/** Ten-second steps of the last hour, and minutes of the last day. */
class Series {
  readonly short = new StepRing(SHORT_STEP_SECONDS * 1000, SHORT_STEPS);
  readonly long = new StepRing(LONG_STEP_SECONDS * 1000, LONG_STEPS);
  recent = 0;

  add(atMs: number, sample: Sample, bucket: number): void {
    this.short.add(atMs, sample, bucket);
    this.long.add(atMs, sample, bucket);
    this.recent += 1;
  }
}

interface RouteSeries {
  ids: RouteIds;
  readonly series: Series;
}

/**
 * Traffic of this process over time: all of it, and that of the 500 busiest routes. At most 22 MB: 501 series of 1,800
 * steps of 24 bytes. A route that becomes busy replaces the quietest one at the end of a minute and takes its memory.
 */
export class TrafficSeries {
  readonly #clock: Clock;
  readonly #total = new Series();
  readonly #routes = new Map<string, RouteSeries>();
  readonly #candidates = new Map<string, { readonly edgeId: string; requests: number }>();
  #judgedAtMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get routeCount(): number {
    return this.#routes.size;
  }

  add(sample: Sample, ids: RouteIds | null): void {
    const nowMs = this.#clock.nowMs();
    // Once for the rings of all series: a logarithm for each of them was most of the cost.
    const bucket = bucketOf(sample.durationMs);
    this.#total.add(nowMs, sample, bucket);
    if (nowMs - this.#judgedAtMs >= JUDGE_EVERY_MS) this.#judge(nowMs);
    if (ids === null) return;
    const known = this.#routes.get(ids.routeId);
    if (known !== undefined) known.series.add(nowMs, sample, bucket);
    else if (this.#routes.size < MAX_ROUTES) this.#start(ids, new Series()).series.add(nowMs, sample, bucket);
    else this.#count(ids);
  }

  /** Null: nothing is known about the route. */
  points(options: {
    readonly fromMs: number;
    readonly stepSeconds: number;
    readonly routeId: string | null;
  }): readonly Point[] | null {
    const series = options.routeId === null ? this.#total : this.#routes.get(options.routeId)?.series;
    if (series === undefined) return null;
    const ring = options.stepSeconds === SHORT_STEP_SECONDS ? series.short : series.long;
    return ring.points(options.fromMs, this.#clock.nowMs());
  }

  /** The busiest first, by their requests since then. */
  busiest(fromMs: number, limit: number): readonly RouteTotals[] {
    const nowMs = this.#clock.nowMs();
    const all = [...this.#routes.values()].map(({ ids, series }) => totalOf(ids, series.short.points(fromMs, nowMs)));
    return all
      .filter(({ requests }) => requests > 0)
      .sort((one, other) => other.requests - one.requests)
      .slice(0, limit);
  }

  #start(ids: RouteIds, series: Series): RouteSeries {
    const started = { ids, series };
    this.#routes.set(ids.routeId, started);
    return started;
  }

  #count({ routeId, edgeId }: RouteIds): void {
    const known = this.#candidates.get(routeId);
    if (known !== undefined) known.requests += 1;
    else if (this.#candidates.size < MAX_CANDIDATES) this.#candidates.set(routeId, { edgeId, requests: 1 });
  }

  #judge(nowMs: number): void {
    this.#judgedAtMs = nowMs;
    const rising = [...this.#candidates].sort(([, one], [, other]) => other.requests - one.requests);
    const quietest = [...this.#routes.values()].sort((one, other) => one.series.recent - other.series.recent);
    for (const [at, [routeId, { edgeId, requests }]] of rising.entries()) {
      const least = quietest[at];
      // Twice as busy: otherwise routes of the same traffic would take turns, and none would have a history.
      if (least === undefined || requests <= least.series.recent * 2) break;
      this.#routes.delete(least.ids.routeId);
      least.series.short.clear();
      least.series.long.clear();
      this.#start({ routeId, edgeId }, least.series);
    }
    this.#candidates.clear();
    for (const { series } of this.#routes.values()) series.recent = 0;
  }
}

function totalOf(ids: RouteIds, points: readonly Point[]): RouteTotals {
  const total = { requests: 0, errors: 0, bytesIn: 0, bytesOut: 0, p50Ms: 0, p95Ms: 0 };
  for (const point of points) {
    const { requests } = point;
    total.p50Ms += point.p50Ms * requests;
    total.p95Ms += point.p95Ms * requests;
    total.requests += requests;
    total.errors += point.errors;
    total.bytesIn += point.bytesIn;
    total.bytesOut += point.bytesOut;
  }
  const weight = Math.max(1, total.requests);
  return { ...ids, ...total, p50Ms: total.p50Ms / weight, p95Ms: total.p95Ms / weight };
}
