import type { Socket } from 'node:net';
import type { Registry } from 'prom-client';
import type { Clock } from '../../../../kit/clock.ts';
import type { JsonObject } from '../../../../kit/json.ts';
import { LatePart } from '../../../../kit/late-part.ts';
import { createLog, type ServerLog } from '../../../../kit/logging/logger.ts';
import { SharedTally } from '../../../../kit/process/shared-memory.ts';
import type { ThreadCalls } from '../../../../kit/process/thread-calls.ts';
import type { Edge } from '../../../../proxy/edge/edge.ts';
import { KnownLists } from '../../../../proxy/lists/known-lists.ts';
import type { Snapshots } from '../../../../proxy/snapshot/snapshots.ts';
import { OwnAddresses } from '../../../../proxy/upstream/upstream-guard.ts';
import { createKeyring } from '../../../../store/keyring.ts';
import { ReplicaCopy } from '../../../../store/replica/replica.ts';
import type { EdgeParts } from '../../data-plane/data-plane.ts';
import { SharedStatus, sharedClock } from '../shared-status.ts';
import type { EdgeListenerName, MainMethods, WorkerMethods, WorkerStart } from '../worker-protocol.ts';
import type { HeldAgents, HeldLink } from './held-agents.ts';
import { remoteLogins } from './remote-logins.ts';
import { WorkerTunnels } from './worker-tunnels.ts';

/** The thread that started this one. */
export type MainThread = ThreadCalls<MainMethods>;

/** What serves visitors in a worker. */
export interface WorkerDataPlane {
  readonly edge: Edge;
  readonly snapshots: Snapshots;
  readonly registry: Registry;
  readonly clientsOf: EdgeParts['clientsOf'];
  accept(listener: EdgeListenerName, socket: Socket): void;
  /** Answers a question of the main thread. */
  ask(question: JsonObject): Promise<JsonObject>;
  /** Whether the main thread gets requests as they finish. */
  watch(isWatched: boolean): void;
  drain: WorkerMethods['drain'];
}

/** What a worker has from the beginning, and what opens in it later. */
export interface ThreadParts {
  readonly start: WorkerStart;
  readonly main: MainThread;
  readonly log: ServerLog;
  readonly status: SharedStatus;
  readonly clock: Clock;
  readonly keyring: ReturnType<typeof createKeyring>;
  readonly replica: ReplicaCopy;
  readonly logins: ReturnType<typeof remoteLogins>;
  readonly own: OwnAddresses;
  readonly tunnels: WorkerTunnels;
  readonly addressLists: KnownLists;
  /** Open connections of visitors of each worker, then those of agents. */
  readonly connections: Int32Array;
  /** Opens once the records of the replica are here. */
  readonly dataPlane: LatePart<WorkerDataPlane>;
  /** Connections of agents: opens once this process accepts agents. */
  readonly agents: LatePart<HeldAgents>;
  /** For streams of the main thread to these agents. */
  readonly agentLink: LatePart<HeldLink>;
}

export function prepareThread(start: WorkerStart, main: MainThread): ThreadParts {
  const { config, node, isLogForTerminal } = start;
  const status = new SharedStatus(start.sharedStatus);
  const keyring = createKeyring(start.secretKeys.map((key) => Buffer.from(key)));
  keyring.use(start.secretKeyId);
  const own = new OwnAddresses();
  own.become(start.own);
  const agents = new LatePart<HeldAgents>('the connections of agents');
  return {
    ...{ start, main, status, keyring, own, agents },
    log: createLog(config.log_level, { write: (text) => start.logPort.postMessage(text) }, node, isLogForTerminal),
    clock: sharedClock(start.clockOffset),
    replica: new ReplicaCopy(() => main.call('refresh')),
    logins: remoteLogins((method, ...args) => main.call('login', method, args), {
      keyReplaced: (key) => main.call('keyReplaced', key),
      seen: (question) => main.call('seenLogins', question),
      askIssuer: (question) => main.call('askIssuer', question),
    }),
    tunnels: new WorkerTunnels({
      onBroken: () => main.tell('unlinked', []),
      isUnsettled: () => status.isUnsettled,
      mayServe: () => status.mayServe,
      agents: () => agents.ifOpen,
      streams: new SharedTally(start.tunnelStreams, start.index),
    }),
    addressLists: new KnownLists(start.addressLists),
    connections: new Int32Array(start.connections),
    agentLink: new LatePart('the link to agents'),
    dataPlane: new LatePart('the data plane of this worker'),
  };
}
