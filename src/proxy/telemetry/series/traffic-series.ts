import type { Clock } from '../../../kit/clock.ts';

/** Four buckets for each doubling, from 0.25 ms to more than an hour: a quantile is at most 19 % too high. */
const PER_DOUBLING = 4;
const SMALLEST_MS = 0.25;
const BUCKETS = 96;

export function bucketOf(ms: number): number {
  if (!(ms > SMALLEST_MS)) return 0;
  return Math.min(BUCKETS - 1, Math.ceil(Math.log2(ms / SMALLEST_MS) * PER_DOUBLING));
}

/** Upper bound of the bucket that contains the quantile, in milliseconds; 0 without a request. */
export function quantile(counts: Uint32Array, total: number, share: number): number {
  if (total === 0) return 0;
  const wanted = Math.max(1, Math.ceil(total * share));
  let seen = 0;
  for (let bucket = 0; bucket < counts.length; bucket += 1) {
    seen += counts[bucket] as number;
    if (seen >= wanted) return SMALLEST_MS * 2 ** (bucket / PER_DOUBLING);
  }
  return SMALLEST_MS * 2 ** ((BUCKETS - 1) / PER_DOUBLING);
}

/** One finished request, as far as series know it. */
interface Sample {
  readonly isError: boolean;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly durationMs: number;
}

/** What happened within one step. */
export interface Point {
  readonly atMs: number;
  readonly requests: number;
  readonly errors: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
}

const FIELDS = 4;

/**
 * The last `length` steps of one series. A finished step takes 24 bytes: four numbers as 32-bit floats, which charts
 * cannot tell from exact ones, and two counters. Only the current step has all its latencies.
 */
export class StepRing {
  readonly #stepMs: number;
  readonly #length: number;
  readonly #counts: Uint32Array;
  readonly #floats: Float32Array;
  readonly #latencies = new Uint32Array(BUCKETS);
  /** Number of the current step since the epoch; -1 before the first request. */
  #step = -1;
  /** Exact, unlike a float that grows. */
  #bytesIn = 0;
  #bytesOut = 0;

  constructor(stepMs: number, length: number) {
    this.#stepMs = stepMs;
    this.#length = length;
    this.#counts = new Uint32Array(length * 2);
    this.#floats = new Float32Array(length * FIELDS);
  }

  /** `bucket`: that of the duration, for callers that know it. */
  add(atMs: number, { isError, bytesIn, bytesOut, durationMs }: Sample, bucket = bucketOf(durationMs)): void {
    this.#moveTo(Math.floor(atMs / this.#stepMs));
    const slot = this.#step % this.#length;
    (this.#counts[slot * 2] as number) += 1;
    if (isError) (this.#counts[slot * 2 + 1] as number) += 1;
    this.#bytesIn += bytesIn;
    this.#bytesOut += bytesOut;
    (this.#latencies[bucket] as number) += 1;
  }

  /** From the step of `fromMs` up to the one of `nowMs`, oldest first; at most as many as are kept. */
  points(fromMs: number, nowMs: number): readonly Point[] {
    this.#moveTo(Math.floor(nowMs / this.#stepMs));
    this.#write();
    const first = Math.max(Math.floor(fromMs / this.#stepMs), this.#step - this.#length + 1);
    const points: Point[] = [];
    for (let step = first; step <= this.#step; step += 1) points.push(this.#point(step));
    return points;
  }

  /** Requests of the last steps, for comparisons. */
  requests(nowMs: number): number {
    this.#moveTo(Math.floor(nowMs / this.#stepMs));
    let sum = 0;
    for (let slot = 0; slot < this.#length; slot += 1) sum += this.#counts[slot * 2] as number;
    return sum;
  }

  clear(): void {
    this.#counts.fill(0);
    this.#floats.fill(0);
    this.#startStep(-1);
  }

  #point(step: number): Point {
    const slot = step % this.#length;
    const [bytesIn = 0, bytesOut = 0, p50Ms = 0, p95Ms = 0] = this.#floats.subarray(
      slot * FIELDS,
      slot * FIELDS + FIELDS,
    );
    const [requests = 0, errors = 0] = this.#counts.subarray(slot * 2, slot * 2 + 2);
    return { atMs: step * this.#stepMs, requests, errors, bytesIn, bytesOut, p50Ms, p95Ms };
  }

  /** A clock that goes back counts into the current step. */
  #moveTo(step: number): void {
    if (step <= this.#step) return;
    if (this.#step === -1) {
      this.#startStep(step);
      return;
    }
    this.#write();
    const skipped = Math.min(step - this.#step, this.#length);
    for (let back = 0; back < skipped; back += 1) {
      const slot = (step - back) % this.#length;
      this.#counts.fill(0, slot * 2, slot * 2 + 2);
      this.#floats.fill(0, slot * FIELDS, slot * FIELDS + FIELDS);
    }
    this.#startStep(step);
  }

  #startStep(step: number): void {
    this.#step = step;
    this.#bytesIn = 0;
    this.#bytesOut = 0;
    this.#latencies.fill(0);
  }

  #write(): void {
    if (this.#step === -1) return;
    const slot = this.#step % this.#length;
    const requests = this.#counts[slot * 2] as number;
    const at = slot * FIELDS;
    this.#floats[at] = this.#bytesIn;
    this.#floats[at + 1] = this.#bytesOut;
    this.#floats[at + 2] = quantile(this.#latencies, requests, 0.5);
    this.#floats[at + 3] = quantile(this.#latencies, requests, 0.95);
  }
}

export const SHORT_STEP_SECONDS = 10;
export const LONG_STEP_SECONDS = 60;
const SHORT_STEPS = 360;
const LONG_STEPS = 1440;
const MAX_ROUTES = 500;
/** Routes beyond the kept ones that are counted within a minute, to find those that became busy. */
const MAX_CANDIDATES = 10_000;
const JUDGE_EVERY_MS = 60_000;

interface RouteIds {
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
