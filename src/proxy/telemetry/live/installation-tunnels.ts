import { greatestInSlices, type SliceQueue, TimeSlice } from '../../../kit/async/slices.ts';
import { SharedResult } from '../../../kit/async/turns.ts';
import type { JsonObject, JsonValue } from '../../../kit/json.ts';
import { askedNodes, NO_THREADS, type OtherNodes, type OwnThreads } from '../other-nodes.ts';

/** For another node: short, since an answer is bounded. */
function packedTunnels({ tunnels, agents }: NodeTunnels): JsonObject {
  return {
    tunnels: tunnels.map(({ id, requests, bytesIn, bytesOut, inProgress }) => [
      ...[id, requests, bytesIn, bytesOut, inProgress],
    ]),
    agents: agents.map(({ id, roundTripsMs, bytesReceived, bytesSent }) => [
      ...[id, bytesReceived, bytesSent, ...roundTripsMs.map(rounded)],
    ]),
  };
}

/** Ignores what another node should not have sent. */
function unpackedTunnels({ tunnels, agents }: JsonObject): NodeTunnels {
  return {
    tunnels: rowsOf(tunnels).map(([id, requests, bytesIn, bytesOut, inProgress]) => ({
      ...{ id, requests: numberOf(requests), bytesIn: numberOf(bytesIn), bytesOut: numberOf(bytesOut) },
      inProgress: numberOf(inProgress),
    })),
    agents: rowsOf(agents).map(([id, received, sent, ...roundTrips]) => ({
      ...{ id, bytesReceived: numberOf(received), bytesSent: numberOf(sent) },
      roundTripsMs: roundTrips.map((each) => (typeof each === 'number' ? each : null)),
    })),
  };
}

function rounded(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms * 100) / 100;
}

type Row = readonly [id: string, ...JsonValue[]];

function rowsOf(value: JsonValue | undefined): readonly Row[] {
  const rows = Array.isArray(value) ? (value as readonly JsonValue[]) : [];
  return rows.filter((row): row is Row => Array.isArray(row) && typeof row[0] === 'string');
}

function numberOf(value: JsonValue | undefined): number {
  return typeof value === 'number' ? value : 0;
}

const KIND = 'tunnels.traffic';
/** More than a page shows; a line of a live view stays below 200 kB. */
const MAX_LISTED = 1_000;
/** Below the two seconds between two lines, so that each line is a new state. */
const KEPT_MS = 1_500;

/**
 * Latency of agents and traffic of tunnels, over all nodes: each knows its own visitors and connections. All readers
 * and nodes share what was found; nothing is looked for while nobody reads.
 */
export class InstallationTunnels {
  readonly #own: SharedResult<NodeTunnels>;
  readonly #document = new SharedResult(() => this.#gather(), KEPT_MS);
  readonly #questions: OtherNodes;
  readonly #queue: SliceQueue;

  /** `queue`: shared with other long answers. */
  constructor(own: () => AllFigures, questions: OtherNodes, queue: SliceQueue, threads: OwnThreads = NO_THREADS) {
    this.#queue = queue;
    this.#own = new SharedResult(async () => {
      const answers = await threads.ask({ kind: KIND });
      return withThreads(await busiest(own(), queue), answers.map(unpackedTunnels));
    }, KEPT_MS);
    this.#questions = questions;
    questions.answer(KIND, async () => packedTunnels(await this.#own.get()));
  }

  document(): Promise<JsonObject> {
    return this.#document.get();
  }

  async #gather(): Promise<JsonObject> {
    const [answers, own] = await Promise.all([this.#questions.askOthers({ kind: KIND }), this.#own.get()]);
    const { ownName } = this.#questions;
    const tunnels = new Map<string, TunnelFigures>();
    const agents = new Map<string, MergedAgent>();
    const add = (node: string, figures: NodeTunnels): void => {
      for (const each of figures.tunnels) tunnels.set(each.id, sumOf(tunnels.get(each.id), each));
      for (const each of figures.agents) agents.set(each.id, withConnections(agents.get(each.id), each, node));
    };
    add(ownName, own);
    const slice = new TimeSlice(this.#queue);
    for (const { name, answer } of answers) {
      if (answer !== null) add(name, unpackedTunnels(answer));
      if (slice.isOver) await slice.next();
    }
    const listed = await greatestInSlices(this.#queue, tunnels.values(), MAX_LISTED, ({ requests }) => requests);
    return {
      tunnels: listed.map(({ id, requests, inProgress, bytesIn, bytesOut }) => ({
        ...{ id, requests, in_progress: inProgress, bytes_in: bytesIn, bytes_out: bytesOut },
      })),
      agents: await greatestInSlices(this.#queue, agents.values(), MAX_LISTED, ({ bytes_received: bytes }) => bytes),
      asked_nodes: askedNodes(this.#questions, answers).map((node) => ({ ...node })),
    };
  }
}

async function busiest({ tunnels, agents }: AllFigures, queue: SliceQueue): Promise<NodeTunnels> {
  return {
    tunnels: once(await greatestInSlices(queue, tunnels, MAX_LISTED, ({ requests }) => requests)),
    agents: once(await greatestInSlices(queue, agents, MAX_LISTED, ({ bytesReceived }) => bytesReceived)),
  };
}

/** With threads, only they have visitors and agents. */
function withThreads(own: NodeTunnels, threads: readonly NodeTunnels[]): NodeTunnels {
  if (threads.length === 0) return own;
  const tunnels = new Map(own.tunnels.map((each) => [each.id, each]));
  // One that is no longer here is not listed, although a thread may not have heard of it.
  for (const each of threads.flatMap((thread) => thread.tunnels)) {
    const known = tunnels.get(each.id);
    if (known !== undefined) tunnels.set(each.id, sumOf(known, each));
  }
  const agents = new Map<string, AgentFigures>();
  for (const each of threads.flatMap((thread) => thread.agents)) agents.set(each.id, bothOf(agents.get(each.id), each));
  return { tunnels: [...tunnels.values()], agents: [...own.agents, ...agents.values()] };
}

/** One that went and came back between two slices was found twice. */
function once<Item extends { readonly id: string }>(found: readonly Item[]): readonly Item[] {
  return [...new Map(found.map((each) => [each.id, each])).values()];
}

function sumOf(one: TunnelFigures | undefined, other: TunnelFigures): TunnelFigures {
  if (one === undefined) return other;
  return {
    id: one.id,
    requests: one.requests + other.requests,
    bytesIn: one.bytesIn + other.bytesIn,
    bytesOut: one.bytesOut + other.bytesOut,
    inProgress: one.inProgress + other.inProgress,
  };
}

function bothOf(one: AgentFigures | undefined, other: AgentFigures): AgentFigures {
  if (one === undefined) return other;
  return {
    id: one.id,
    roundTripsMs: [...one.roundTripsMs, ...other.roundTripsMs],
    bytesReceived: one.bytesReceived + other.bytesReceived,
    bytesSent: one.bytesSent + other.bytesSent,
  };
}

interface MergedAgent extends JsonObject {
  readonly id: string;
  readonly bytes_received: number;
  readonly bytes_sent: number;
  readonly connections: readonly JsonObject[];
}

function withConnections(known: MergedAgent | undefined, agent: AgentFigures, node: string): MergedAgent {
  const { id, roundTripsMs, bytesReceived, bytesSent } = agent;
  const here = roundTripsMs.map((ms) => ({ node, round_trip_ms: rounded(ms) }));
  return {
    id,
    bytes_received: (known?.bytes_received ?? 0) + bytesReceived,
    bytes_sent: (known?.bytes_sent ?? 0) + bytesSent,
    connections: [...(known?.connections ?? []), ...here],
  };
}

/** Use of a tunnel by the visitors of one node. */
export interface TunnelFigures {
  readonly id: string;
  /** Requests and connections that have ended, and their bytes. */
  readonly requests: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly inProgress: number;
}

/** The connections of an agent to one node. */
export interface AgentFigures {
  readonly id: string;
  /** Duration of the last ping for each connection; null before the first answer. */
  readonly roundTripsMs: readonly (number | null)[];
  /** Over these connections: requests, responses and control messages. */
  readonly bytesReceived: number;
  readonly bytesSent: number;
}

/** Everything online at a node, read one by one, in several turns of the event loop. Null: nothing to list. */
export interface AllFigures {
  readonly tunnels: Iterable<TunnelFigures | null>;
  readonly agents: Iterable<AgentFigures | null>;
}

/** The busiest of a node. */
export interface NodeTunnels {
  readonly tunnels: readonly TunnelFigures[];
  readonly agents: readonly AgentFigures[];
}
