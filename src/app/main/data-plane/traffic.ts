import { join } from 'node:path';
import type { Logger } from 'pino';
import { API_QUEUE } from '../../../control/documents/long-answer.ts';
import { edgeRecordKinds } from '../../../edges/record-kinds.ts';
import type { Clock } from '../../../kit/clock.ts';
import { isJsonObject, type JsonObject } from '../../../kit/json.ts';
import { maintenanceErrors } from '../../../modules/maintenance/errors.ts';
import type { ProblemIndex } from '../../../proxy/snapshot/problems.ts';
import { KeptTraffic } from '../../../proxy/telemetry/kept-traffic.ts';
import { type AllFigures, InstallationTunnels } from '../../../proxy/telemetry/live/installation-tunnels.ts';
import type { LiveSources } from '../../../proxy/telemetry/live/live-streams.ts';
import { OthersRequests } from '../../../proxy/telemetry/requests/installation-requests.ts';
import type { RecordedRequest } from '../../../proxy/telemetry/requests/recorded-request.ts';
import { requestDocument } from '../../../proxy/telemetry/requests/request-document.ts';
import { filteredFrom, matches, type RequestFilter } from '../../../proxy/telemetry/requests/request-filter.ts';
import type { RequestHistory } from '../../../proxy/telemetry/requests/request-history.ts';
import { InstallationSeries } from '../../../proxy/telemetry/series/installation-series.ts';
import { SHORT_STEP_SECONDS, TrafficSeries } from '../../../proxy/telemetry/series/traffic-series.ts';
import type { Replica } from '../../../store/replica/replica.ts';
import type { Membership } from '../../../tunnel/nodes/membership/membership.ts';
import type { Config } from '../../settings/schema.ts';
import type { OpenedRequests } from '../cluster/nodes.ts';

const OTHERS_AT_ONCE = 100;
const FIRST_SERVER_ERROR = 500;
/** The page shows the first few. */
const MAX_PROBLEMS = 50;

export interface TrafficDependencies extends OpenedRequests {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly replica: Pick<Replica, 'count'>;
  readonly membership: Pick<Membership, 'nodes'>;
  readonly problems: Pick<ProblemIndex, 'all'>;
  /** Agents and tunnels of this node. */
  readonly ownTunnels: () => AllFigures;
  readonly config: Pick<
    Config,
    'data_dir' | 'request_history_file' | 'request_history_headers' | 'request_history_query'
  >;
}

export interface OpenedTraffic {
  readonly series: InstallationSeries;
  /** Null: a restart forgets the traffic. */
  readonly kept: KeptTraffic | null;
  /** `shown`: a request as GET /requests shows it. */
  live(shown: (request: JsonObject) => JsonObject): LiveSources;
}

/** What the console shows as it happens: series of this node and the others, and streams of requests. */
export function openTraffic(deps: TrafficDependencies): OpenedTraffic {
  const { clock, logger, history, questions, requests, membership, replica } = deps;
  const own = new TrafficSeries(clock);
  tallyIn(own, history);
  const series = new InstallationSeries(own, questions, clock, deps.threads);
  const tunnels = new InstallationTunnels(deps.ownTunnels, questions, API_QUEUE, deps.threads);
  const others = new OthersRequests((sinceMs) => requests.ofOthers({ sinceMs }, OTHERS_AT_ONCE), clock);
  const kept = keptTraffic(series, deps);
  return {
    series,
    kept,
    live: (shown) => ({
      clock,
      followRequests: (onRequest) => {
        // One object for all requests: it is used only during the call.
        const live = new OwnRequest(questions.ownName, shown);
        return history.subscribe((request) => onRequest(live.of(request)));
      },
      othersRequests: async () =>
        (await others.next()).map((document) => ({
          matches: (filter) => matches(filteredFrom(document), filter),
          document: () => shown(document),
        })),
      overview: async () => ({
        ...(await latest(series, clock)),
        edges: edgeRecordKinds.reduce((sum, kind) => sum + replica.count(kind), 0),
        ...onlineOf(membership),
        problems: problemsOf(deps).slice(0, MAX_PROBLEMS),
      }),
      tunnels: () => onlineOf(membership),
      tunnel_traffic: () => tunnels.document(),
      onProblem: (err) => logger.warn({ err }, 'failed to read what a live view shows'),
    }),
  };
}

function keptTraffic(series: InstallationSeries, deps: TrafficDependencies): KeptTraffic | null {
  const { config, requests, clock, logger } = deps;
  if (!config.request_history_file) return null;
  const headers = new Set(config.request_history_headers);
  return new KeptTraffic({
    ...{ requests, series, clock, queue: API_QUEUE },
    path: join(config.data_dir, 'recent-traffic.ndjson'),
    shown: ({ query, user_agent: userAgent, headers: others, ...request }) => ({
      ...request,
      ...(query !== undefined && config.request_history_query && { query }),
      ...(userAgent !== undefined && headers.has('user-agent') && { user_agent: userAgent }),
      ...(isJsonObject(others) && {
        headers: Object.fromEntries(Object.entries(others).filter(([name]) => headers.has(name))),
      }),
    }),
    onProblem: (err) => logger.warn({ err }, 'failed to keep the traffic of the last hour in the data directory'),
  });
}

/** Counts the requests of a history in a series. */
export function tallyIn(series: TrafficSeries, history: Pick<RequestHistory, 'tallyWith'>): void {
  history.tallyWith(({ edgeId, routeId, status, errorCode, bytesIn, bytesOut, durationMs }) =>
    series.add(
      { isError: isFailure(status, errorCode), bytesIn, bytesOut, durationMs },
      edgeId === null || routeId === null ? null : { edgeId, routeId },
    ),
  );
}

/** A site that its owner paused does not fail: its answer is the one that the owner wanted. */
function isFailure(status: number, errorCode: string | null): boolean {
  return status >= FIRST_SERVER_ERROR && (errorCode === null || !(errorCode in maintenanceErrors.rows));
}

/** A request of this node, as live views ask about it. */
class OwnRequest {
  readonly #node: string;
  readonly #shown: (request: JsonObject) => JsonObject;
  #request: RecordedRequest | null = null;

  constructor(node: string, shown: (request: JsonObject) => JsonObject) {
    this.#node = node;
    this.#shown = shown;
  }

  of(request: RecordedRequest): this {
    this.#request = request;
    return this;
  }

  matches(filter: RequestFilter): boolean {
    return this.#request !== null && matches(this.#request, filter);
  }

  document(): JsonObject {
    return this.#shown(requestDocument(this.#request as RecordedRequest, this.#node));
  }
}

/** The last complete step, as rates. */
async function latest(series: InstallationSeries, clock: Clock): Promise<JsonObject> {
  const fromMs = clock.nowMs() - 2 * SHORT_STEP_SECONDS * 1000;
  const { points, nodes } = await series.points({ fromMs, stepSeconds: SHORT_STEP_SECONDS, routeId: null });
  const last = points.at(-2);
  const rate = (value = 0): number => Math.round((value / SHORT_STEP_SECONDS) * 100) / 100;
  return {
    requests_per_second: rate(last?.requests),
    errors_per_second: rate(last?.errors),
    bytes_in_per_second: rate(last?.bytesIn),
    bytes_out_per_second: rate(last?.bytesOut),
    p50_ms: last === undefined || last.requests === 0 ? null : last.p50Ms,
    p95_ms: last === undefined || last.requests === 0 ? null : last.p95Ms,
    asked_nodes: nodes.map((node) => ({ ...node })),
  };
}

function onlineOf(membership: Pick<Membership, 'nodes'>): JsonObject {
  const nodes = membership.nodes().map(({ name, status, agents, tunnels }) => ({ name, status, agents, tunnels }));
  const online = nodes.filter(({ status }) => status !== 'lost');
  return {
    agents: online.reduce((sum, { agents }) => sum + agents, 0),
    tunnels: online.reduce((sum, { tunnels }) => sum + tunnels, 0),
    nodes,
  };
}

/** What this server knows of; `postern doctor` also asks from outside. */
function problemsOf({ problems, membership }: TrafficDependencies): readonly JsonObject[] {
  const refusing = problems.all().map(({ edge, route, module, message }) => ({
    kind: 'module',
    id: route ?? edge,
    message: `${module}: ${message}`,
  }));
  const ofNodes = membership.nodes().flatMap(({ name, status, problems: own }) => {
    const lost = status === 'lost' ? [{ message: 'the node is lost: it has not renewed its lease' }] : [];
    return [...lost, ...own].map(({ message }) => ({ kind: 'node', id: name, message }));
  });
  return [...refusing, ...ofNodes];
}
