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
export interface Sample {
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
