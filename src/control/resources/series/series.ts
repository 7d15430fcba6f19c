import Type from 'typebox';
import { routedRecordKinds, routeIdPrefixes, routeRecordKinds } from '../../../edges/record-kinds.ts';
import { rfc3339 } from '../../../kit/clock.ts';
import { reference, refSchema } from '../../../kit/schema/annotations.ts';
import type { InstallationSeries } from '../../../proxy/telemetry/series/installation-series.ts';
import type { Point } from '../../../proxy/telemetry/series/traffic-series.ts';
import { resourceErrors } from '../errors.ts';
import type { Operation } from '../operation.ts';
import { idParameter } from '../paging.ts';
import type { SharedPorts } from '../ports.ts';
import { type LiveResource, timestamp } from '../resource.ts';

export interface SeriesPorts extends Pick<SharedPorts, 'clock' | 'ref'> {
  /** Traffic of all nodes over time. */
  readonly traffic: Pick<InstallationSeries, 'points' | 'routes'>;
}

const PATH = '/series';
const SHORT_STEP = '10';
const HOUR_MS = 3_600_000;
const DEFAULT_ROUTES = 100;
const MAX_ROUTES = 500;

const numbers = {
  requests: Type.Integer({ description: 'Number of requests that finished.' }),
  errors: Type.Integer({ description: 'Number of these with a status of 500 or above.' }),
  bytes_in: Type.Number({ description: 'Bytes of request bodies.' }),
  bytes_out: Type.Number({ description: 'Bytes of response bodies.' }),
  p50_ms: Type.Union([Type.Number(), Type.Null()], {
    description: 'Half of the requests took at most this long, in milliseconds; null without a request.',
  }),
  p95_ms: Type.Union([Type.Number(), Type.Null()], { description: 'The same for 95 % of the requests.' }),
};
const nodes = Type.Array(
  Type.Object({
    name: Type.String({ description: 'Name of the node.' }),
    answered: Type.Boolean({ description: 'Whether it answered: otherwise its traffic is missing.' }),
    problem: Type.Optional(Type.String({ description: 'Why it did not answer.' })),
  }),
  { description: 'The nodes that were asked.' },
);

const get: Operation<SeriesPorts> = {
  resource: 'series',
  verb: 'get',
  method: 'GET',
  path: PATH,
  summary: 'Get traffic over time',
  description:
    'Traffic of all nodes, or of one route, in steps of ten seconds for the last hour or of a minute for the last day. Each node keeps it in memory: it is lost when the node stops. Latencies of several nodes are averaged by requests.',
  query: Type.Object(
    {
      from: Type.Optional(timestamp('Only steps from this time on. Default: an hour or a day ago.')),
      step: Type.Optional(Type.Enum([SHORT_STEP, '60'], { description: 'Seconds of a step. Default: 10.' })),
      route: Type.Optional(idParameter(routeIdPrefixes, 'Only traffic of this route, if it is among the 500 busiest.')),
    },
    { additionalProperties: false },
  ),
  success: {
    status: 200,
    schema: Type.Object({
      step: Type.Integer({ description: 'Seconds of a step.' }),
      points: Type.Array(Type.Object({ at: timestamp('Start of the step.'), ...numbers }), {
        description: 'One for each step, oldest first; the last one is not complete.',
      }),
      nodes,
    }),
    description: 'The series.',
  },
  errors: ['ERR_POSTERN_INVALID_QUERY', 'ERR_POSTERN_INVALID_TIME'],
  run: async ({ query }, ports) => {
    const stepSeconds = Number(query['step'] ?? SHORT_STEP);
    const { from, route } = query;
    const found = await ports.traffic.points({
      fromMs: from === undefined ? 0 : timeOf(from),
      stepSeconds,
      routeId: route ?? null,
    });
    return {
      body: {
        step: stepSeconds,
        points: found.points.map((point) => ({ at: rfc3339(point.atMs), ...numbersOf(point) })),
        nodes: found.nodes.map((node) => ({ ...node })),
      },
    };
  },
};

const routes: Operation<SeriesPorts> = {
  resource: 'series',
  verb: 'routes',
  method: 'GET',
  path: `${PATH}/routes`,
  summary: 'List the busiest routes',
  description: `The routes with the most requests, of all nodes, within the last hour. Each node counts its ${MAX_ROUTES} busiest.`,
  query: Type.Object(
    {
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: MAX_ROUTES,
          description: `Maximum number of routes, 1 to ${MAX_ROUTES}. Default: ${DEFAULT_ROUTES}.`,
        }),
      ),
    },
    { additionalProperties: false },
  ),
  success: {
    status: 200,
    schema: Type.Object({
      routes: Type.Array(
        Type.Object({
          route: reference(
            { kinds: routeRecordKinds },
            Type.Union([refSchema, Type.Null()], { description: 'The route; null for the endpoint of an agent.' }),
          ),
          edge: reference(
            { kinds: routedRecordKinds },
            { ...refSchema, description: 'The edge, or the endpoint of an agent.' },
          ),
          ...numbers,
        }),
        { description: 'The busiest first.' },
      ),
      nodes,
    }),
    description: 'The routes.',
  },
  errors: ['ERR_POSTERN_INVALID_QUERY'],
  run: async ({ query }, ports) => {
    const limit = Number(query['limit'] ?? DEFAULT_ROUTES);
    const found = await ports.traffic.routes(ports.clock.nowMs() - HOUR_MS, limit);
    return {
      body: {
        routes: found.routes.map((totals) => ({ ...refsOf(totals, ports), ...numbersOf(totals) })),
        nodes: found.nodes.map((node) => ({ ...node })),
      },
    };
  },
};

/** Traffic over time, from the memory of all nodes. */
export const series: LiveResource<SeriesPorts> = {
  type: 'live',
  name: 'series',
  kind: 'series',
  idPrefix: '',
  path: PATH,
  listKey: 'series',
  title: 'a time series',
  description: 'Requests, errors, bytes and latency over time.',
  operations: [get, routes],
};

function refsOf({ routeId, edgeId }: { readonly routeId: string; readonly edgeId: string }, ports: SeriesPorts) {
  return {
    // An agent's endpoint is its own route.
    route: routeId === edgeId ? null : { ...ports.ref(routeId, edgeId) },
    edge: { ...ports.ref(edgeId) },
  };
}

function numbersOf({ requests, errors, bytesIn, bytesOut, p50Ms, p95Ms }: Omit<Point, 'atMs'>) {
  const ms = (value: number): number | null => (requests === 0 ? null : Math.round(value * 100) / 100);
  return { requests, errors, bytes_in: bytesIn, bytes_out: bytesOut, p50_ms: ms(p50Ms), p95_ms: ms(p95Ms) };
}

function timeOf(text: string): number {
  const ms = Date.parse(text);
  if (!Number.isNaN(ms) && /^\d{4}-\d\d-\d\dT/.test(text)) return ms;
  throw resourceErrors.create('ERR_POSTERN_INVALID_TIME', 'from must be a time such as 2026-11-01T00:00:00Z', {
    details: { field: 'from' },
  });
}
