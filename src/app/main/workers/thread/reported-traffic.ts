import {
  CONNECTION_CLOSED,
  REQUEST_COMPLETE,
  type TrafficReporter,
  WantedTypes,
} from '../../../../control/events/event-recorder.ts';
import { SliceQueue } from '../../../../kit/async/slices.ts';
import type { JsonObject } from '../../../../kit/json.ts';
import { tunnelFigures } from '../../../../proxy/edge/tunnels/online-tunnels.ts';
import { InstallationTunnels } from '../../../../proxy/telemetry/live/installation-tunnels.ts';
import { BackendTraffic } from '../../../../proxy/telemetry/metrics/backend-traffic.ts';
import type { AnsweringNode, OtherNodes } from '../../../../proxy/telemetry/other-nodes.ts';
import { InstallationRequests } from '../../../../proxy/telemetry/requests/installation-requests.ts';
import type { RecordedRequest } from '../../../../proxy/telemetry/requests/recorded-request.ts';
import { RequestHistory } from '../../../../proxy/telemetry/requests/request-history.ts';
import { InstallationSeries } from '../../../../proxy/telemetry/series/installation-series.ts';
import { TrafficSeries } from '../../../../proxy/telemetry/series/traffic-series.ts';
import { tallyIn } from '../../data-plane/traffic.ts';
import { SentInBatches } from './remote-logins.ts';
import type { ThreadParts } from './thread-parts.ts';

const BACKENDS_EVERY_MS = 1_000;
const NO_TUNNELS = { all: () => [], get: () => undefined };

/** What this worker knows about its traffic, and tells the main thread. */
export interface ReportedTraffic {
  /** For events. */
  readonly traffic: TrafficReporter;
  readonly backendTraffic: BackendTraffic;
  readonly history: RequestHistory;
  /** Answers a question of the main thread. */
  ask(question: JsonObject): Promise<JsonObject>;
  /** Whether the main thread gets requests as they finish. */
  watch(isWatched: boolean): void;
  /** Tells the rest: the last request has ended. */
  end(): void;
}

export function reportTraffic({ start, main, replica, clock, tunnels, agents }: ThreadParts): ReportedTraffic {
  const wanted = new WantedTypes(replica);
  const finished = new SentInBatches<Parameters<TrafficReporter['requestComplete']>[0]>((facts) =>
    main.tell('finished', [facts]),
  );
  const backendTraffic = new BackendTraffic();
  const backends = setInterval(() => {
    const counts = backendTraffic.take();
    if (counts.length > 0) main.tell('backends', [counts]);
  }, BACKENDS_EVERY_MS).unref();
  const history = new RequestHistory({ maxRequests: Math.ceil(start.config.request_history / start.count) });
  const questions = new OwnQuestions(start.node);
  new InstallationRequests(history, questions);
  const series = new TrafficSeries(clock);
  tallyIn(series, history);
  new InstallationSeries(series, questions, clock);
  const used = () => ({ tunnels: tunnelFigures(tunnels, NO_TUNNELS), agents: agents.ifOpen?.figures() ?? [] });
  new InstallationTunnels(used, questions, new SliceQueue());
  const watched = new SentInBatches<RecordedRequest>((requests) => main.tell('watched', [requests]));
  let unwatch: (() => void) | null = null;
  return {
    traffic: {
      wantsRequests: () => wanted.has(REQUEST_COMPLETE),
      requestComplete: (facts) => finished.add(facts),
      wantsConnections: () => wanted.has(CONNECTION_CLOSED),
      connectionClosed: (id, facts) => main.tell('connectionClosed', [id, facts]),
      moduleEvent: (type, object) => main.tell('moduleEvent', [type, object]),
    },
    backendTraffic,
    history,
    ask: (question) => questions.ask(question),
    watch: (isWatched) => {
      unwatch?.();
      unwatch = isWatched ? history.subscribe((request) => watched.add({ ...request })) : null;
    },
    end: () => {
      clearInterval(backends);
      main.tell('backends', [backendTraffic.take()]);
      for (const batch of [finished, watched]) batch.flush();
    },
  };
}

/** Questions that the main thread asks a worker, which itself asks nobody. */
class OwnQuestions implements OtherNodes {
  readonly ownName: string;
  readonly #answers = new Map<string, (question: JsonObject) => JsonObject | Promise<JsonObject>>();

  constructor(ownName: string) {
    this.ownName = ownName;
  }

  answer(kind: string, answer: (question: JsonObject) => JsonObject | Promise<JsonObject>): void {
    this.#answers.set(kind, answer);
  }

  askOthers(): Promise<readonly AnsweringNode[]> {
    return Promise.resolve([]);
  }

  async ask(question: JsonObject): Promise<JsonObject> {
    const { kind } = question;
    const answer = typeof kind === 'string' ? this.#answers.get(kind) : undefined;
    if (answer === undefined) throw new Error(`a worker does not know the question ${JSON.stringify(kind)}`);
    return answer(question);
  }
}
