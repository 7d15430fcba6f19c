import type { Clock } from '../../lib/clock.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { type AskedNode, askedNodes, type OtherNodes } from '../other-nodes.ts';
import type { Point } from './step-ring.ts';
import type { RouteTotals, TrafficSeries } from './traffic-series.ts';

export interface SeriesQuery {
  readonly fromMs: number;
  readonly stepSeconds: number;
  readonly routeId: string | null;
}

const POINTS = 'series.points';
const ROUTES = 'series.routes';
const MAX_ROUTES = 500;

/** Traffic of all nodes over time: each keeps its own, and is asked for it. */
export class InstallationSeries {
  readonly #own: TrafficSeries;
  readonly #questions: OtherNodes;
  readonly #clock: Clock;

  constructor(own: TrafficSeries, questions: OtherNodes, clock: Clock) {
    this.#own = own;
    this.#questions = questions;
    this.#clock = clock;
    questions.answer(POINTS, (question) => ({ points: (own.points(queryOf(question)) ?? []).map(packed) }));
    questions.answer(ROUTES, ({ fromMs }) => ({
      routes: own.busiest(numberOf(fromMs), MAX_ROUTES).map((totals) => ({ ...totals })),
    }));
  }

  async points(
    query: SeriesQuery,
  ): Promise<{ readonly points: readonly Point[]; readonly nodes: readonly AskedNode[] }> {
    const answers = await this.#questions.askOthers({ kind: POINTS, ...query });
    const lists = [
      this.#own.points(query) ?? [],
      ...answers.map(({ answer }) => listOf(answer?.['points']).flatMap(unpacked)),
    ];
    const stepMs = query.stepSeconds * 1000;
    const last = Math.floor(this.#clock.nowMs() / stepMs) * stepMs;
    const byTime = new Map<number, Point>();
    for (const point of lists.flat()) byTime.set(point.atMs, sum(byTime.get(point.atMs), point));
    const times = [...byTime.keys()].filter((atMs) => atMs <= last).sort((one, other) => one - other);
    return { points: times.map((atMs) => byTime.get(atMs) as Point), nodes: askedNodes(this.#questions, answers) };
  }

  /** The busiest first. */
  async routes(
    fromMs: number,
    limit: number,
  ): Promise<{ readonly routes: readonly RouteTotals[]; readonly nodes: readonly AskedNode[] }> {
    const answers = await this.#questions.askOthers({ kind: ROUTES, fromMs });
    const byRoute = new Map<string, RouteTotals>();
    const others = answers.flatMap(({ answer }) => listOf(answer?.['routes']).flatMap(routeTotals));
    for (const totals of [...this.#own.busiest(fromMs, MAX_ROUTES), ...others]) {
      const known = byRoute.get(totals.routeId);
      byRoute.set(totals.routeId, { ...totals, ...sum(known && { atMs: 0, ...known }, { atMs: 0, ...totals }) });
    }
    const sorted = [...byRoute.values()].sort((one, other) => other.requests - one.requests);
    return { routes: sorted.slice(0, limit), nodes: askedNodes(this.#questions, answers) };
  }
}

/** Latencies are weighted by requests: a mean of quantiles is close where nodes share the same traffic. */
function sum(one: Point | undefined, other: Point): Point {
  if (one === undefined) return other;
  const requests = one.requests + other.requests;
  const mean = (a: number, b: number): number =>
    requests === 0 ? 0 : (a * one.requests + b * other.requests) / requests;
  return {
    atMs: other.atMs,
    requests,
    errors: one.errors + other.errors,
    bytesIn: one.bytesIn + other.bytesIn,
    bytesOut: one.bytesOut + other.bytesOut,
    p50Ms: mean(one.p50Ms, other.p50Ms),
    p95Ms: mean(one.p95Ms, other.p95Ms),
  };
}

function packed({ atMs, requests, errors, bytesIn, bytesOut, p50Ms, p95Ms }: Point): readonly number[] {
  return [atMs, requests, errors, bytesIn, bytesOut, p50Ms, p95Ms];
}

function unpacked(value: JsonValue): readonly Point[] {
  if (!Array.isArray(value) || value.length < 7 || !value.every((each) => typeof each === 'number')) return [];
  const [atMs, requests, errors, bytesIn, bytesOut, p50Ms, p95Ms] = value as number[] & { length: 7 };
  return [{ atMs, requests, errors, bytesIn, bytesOut, p50Ms, p95Ms } as Point];
}

function routeTotals(value: JsonValue): readonly RouteTotals[] {
  if (!isJsonObject(value)) return [];
  const { routeId, edgeId } = value;
  if (typeof routeId !== 'string' || typeof edgeId !== 'string') return [];
  const number = (name: string): number => numberOf(value[name]);
  return [
    {
      routeId,
      edgeId,
      requests: number('requests'),
      errors: number('errors'),
      bytesIn: number('bytesIn'),
      bytesOut: number('bytesOut'),
      p50Ms: number('p50Ms'),
      p95Ms: number('p95Ms'),
    },
  ];
}

function queryOf({ fromMs, stepSeconds, routeId }: JsonObject): SeriesQuery {
  return {
    fromMs: numberOf(fromMs),
    stepSeconds: numberOf(stepSeconds),
    routeId: typeof routeId === 'string' ? routeId : null,
  };
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}

function numberOf(value: JsonValue | undefined): number {
  return typeof value === 'number' ? value : 0;
}
