import type { Clock } from '../../../kit/clock.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../kit/json.ts';
import { type AskedNode, askedNodes, NO_THREADS, type OtherNodes, type OwnThreads } from '../other-nodes.ts';
import {
  LONG_STEP_SECONDS,
  type Point,
  type RouteTotals,
  SHORT_STEP_SECONDS,
  type TrafficSeries,
} from './traffic-series.ts';

export interface SeriesQuery {
  readonly fromMs: number;
  readonly stepSeconds: number;
  readonly routeId: string | null;
}

interface EarlierSeries extends Omit<SeriesQuery, 'fromMs'> {
  readonly edgeId: string;
  readonly points: readonly Point[];
}

const POINTS = 'series.points';
const ROUTES = 'series.routes';
const MAX_ROUTES = 500;

/** Traffic of all nodes over time: each keeps its own, and is asked for it. */
export class InstallationSeries {
  readonly #own: TrafficSeries;
  readonly #questions: OtherNodes;
  readonly #threads: OwnThreads;
  readonly #clock: Clock;
  /** Series of the process before this one. */
  #earlier: readonly EarlierSeries[] = [];

  constructor(own: TrafficSeries, questions: OtherNodes, clock: Clock, threads: OwnThreads = NO_THREADS) {
    this.#own = own;
    this.#questions = questions;
    this.#threads = threads;
    this.#clock = clock;
    questions.answer(POINTS, async (question) => ({
      points: byTime(await this.#ownPoints(queryOf(question))).map(packed),
    }));
    questions.answer(ROUTES, async ({ fromMs }) => ({
      routes: byRoute(await this.#ownRoutes(numberOf(fromMs))).map((totals) => ({ ...totals })),
    }));
  }

  async points(
    query: SeriesQuery,
  ): Promise<{ readonly points: readonly Point[]; readonly nodes: readonly AskedNode[] }> {
    const [answers, own] = await Promise.all([
      this.#questions.askOthers({ kind: POINTS, ...query }),
      this.#ownPoints(query),
    ]);
    const stepMs = query.stepSeconds * 1000;
    const last = Math.floor(this.#clock.nowMs() / stepMs) * stepMs;
    const points = byTime([...own, ...answers.flatMap(({ answer }) => pointsIn(answer))]);
    return { points: points.filter(({ atMs }) => atMs <= last), nodes: askedNodes(this.#questions, answers) };
  }

  /** The busiest first. */
  async routes(
    fromMs: number,
    limit: number,
  ): Promise<{ readonly routes: readonly RouteTotals[]; readonly nodes: readonly AskedNode[] }> {
    const [answers, own] = await Promise.all([
      this.#questions.askOthers({ kind: ROUTES, fromMs }),
      this.#ownRoutes(fromMs),
    ]);
    const routes = byRoute([...own, ...answers.flatMap(({ answer }) => routesIn(answer))]);
    return { routes: routes.slice(0, limit), nodes: askedNodes(this.#questions, answers) };
  }

  /** What this node knows since then, in rows for a file: all traffic in two steps, and each of its busiest routes. */
  async ownState(fromMs: number, maxRoutes: number): Promise<readonly JsonObject[]> {
    const rows: JsonObject[] = [];
    for (const stepSeconds of [SHORT_STEP_SECONDS, LONG_STEP_SECONDS])
      rows.push(await this.#row({ fromMs, stepSeconds, routeId: null }, ''));
    const routes = byRoute(await this.#ownRoutes(fromMs)).slice(0, maxRoutes);
    for (const { routeId, edgeId } of routes)
      rows.push(await this.#row({ fromMs, stepSeconds: LONG_STEP_SECONDS, routeId }, edgeId));
    return rows;
  }

  async #row(query: SeriesQuery, edgeId: string): Promise<JsonObject> {
    const points = byTime(await this.#ownPoints(query)).filter(({ requests }) => requests > 0);
    return { step: query.stepSeconds, route: query.routeId, edge: edgeId, points: points.map(packed) };
  }

  /** Rows of an earlier process of this node: its requests and those of this one are counted together. */
  keepEarlier(rows: readonly JsonObject[]): void {
    this.#earlier = rows.map(({ step, route, edge, points }) => ({
      stepSeconds: numberOf(step),
      routeId: typeof route === 'string' ? route : null,
      edgeId: typeof edge === 'string' ? edge : '',
      points: listOf(points).flatMap(unpacked),
    }));
  }

  #earlierPoints({ fromMs, stepSeconds, routeId }: SeriesQuery): readonly Point[] {
    const found = this.#earlier.find((each) => each.stepSeconds === stepSeconds && each.routeId === routeId);
    const stepMs = stepSeconds * 1000;
    return found?.points.filter(({ atMs }) => atMs >= Math.floor(fromMs / stepMs) * stepMs) ?? [];
  }

  #earlierRoutes(fromMs: number): readonly RouteTotals[] {
    return this.#earlier.flatMap(({ routeId, edgeId, points }): readonly RouteTotals[] => {
      const [first, ...others] = points.filter(({ atMs }) => atMs >= fromMs);
      if (routeId === null || first === undefined) return [];
      return [{ routeId, edgeId, ...others.reduce((total, point) => sum(total, point), first) }];
    });
  }

  async #ownPoints(query: SeriesQuery): Promise<readonly Point[]> {
    const answers = await this.#threads.ask({ kind: POINTS, ...query });
    return [...this.#earlierPoints(query), ...(this.#own.points(query) ?? []), ...answers.flatMap(pointsIn)];
  }

  async #ownRoutes(fromMs: number): Promise<readonly RouteTotals[]> {
    const answers = await this.#threads.ask({ kind: ROUTES, fromMs });
    return [...this.#earlierRoutes(fromMs), ...this.#own.busiest(fromMs, MAX_ROUTES), ...answers.flatMap(routesIn)];
  }
}

function pointsIn(answer: JsonObject | null): readonly Point[] {
  return listOf(answer?.['points']).flatMap(unpacked);
}

function routesIn(answer: JsonObject | null): readonly RouteTotals[] {
  return listOf(answer?.['routes']).flatMap(routeTotals);
}

/** One point for each time, in order. */
function byTime(points: readonly Point[]): readonly Point[] {
  const sums = new Map<number, Point>();
  for (const point of points) sums.set(point.atMs, sum(sums.get(point.atMs), point));
  return [...sums.values()].sort((one, other) => one.atMs - other.atMs);
}

/** One for each route, the busiest first. */
function byRoute(all: readonly RouteTotals[]): readonly RouteTotals[] {
  const sums = new Map<string, RouteTotals>();
  for (const totals of all) {
    const known = sums.get(totals.routeId);
    sums.set(totals.routeId, { ...totals, ...sum(known && { atMs: 0, ...known }, { atMs: 0, ...totals }) });
  }
  return [...sums.values()].sort((one, other) => other.requests - one.requests).slice(0, MAX_ROUTES);
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
