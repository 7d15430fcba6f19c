import { greatestInSlices } from '../../lib/async/greatest-in-slices.ts';
import { SharedResult } from '../../lib/async/shared-result.ts';
import { type SliceLane, TimeSlice } from '../../lib/async/slice-lane.ts';
import type { JsonObject } from '../../lib/json.ts';
import { askedNodes, NO_THREADS, type OtherNodes, type OwnThreads } from '../other-nodes.ts';
import { packedTunnels, rounded, unpackedTunnels } from './node-tunnels.ts';
import type { AgentFigures, AllFigures, NodeTunnels, TunnelFigures } from './tunnel-figures.ts';

const KIND = 'tunnels.traffic';
/** More than a page shows; a line of a live view stays below 200 kB. */
const MAX_LISTED = 1_000;
/** Below the two seconds between two lines, so that each line is a new state. */
const KEPT_MS = 1_500;

/**
 * Latency of agents and traffic of tunnels, over all nodes: each knows its own visitors and connections. All readers and
 * nodes share what was found; nothing is looked for while nobody reads.
 */
export class InstallationTunnels {
  readonly #own: SharedResult<NodeTunnels>;
  readonly #document = new SharedResult(() => this.#gather(), KEPT_MS);
  readonly #questions: OtherNodes;
  readonly #lane: SliceLane;

  /** `lane`: shared with other long answers. */
  constructor(own: () => AllFigures, questions: OtherNodes, lane: SliceLane, threads: OwnThreads = NO_THREADS) {
    this.#lane = lane;
    this.#own = new SharedResult(async () => {
      const answers = await threads.ask({ kind: KIND });
      return withThreads(await busiest(own(), lane), answers.map(unpackedTunnels));
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
    const slice = new TimeSlice(this.#lane);
    for (const { name, answer } of answers) {
      if (answer !== null) add(name, unpackedTunnels(answer));
      if (slice.isOver) await slice.next();
    }
    const listed = await greatestInSlices(this.#lane, tunnels.values(), MAX_LISTED, ({ requests }) => requests);
    return {
      tunnels: listed.map(({ id, requests, inProgress, bytesIn, bytesOut }) => ({
        ...{ id, requests, in_progress: inProgress, bytes_in: bytesIn, bytes_out: bytesOut },
      })),
      agents: await greatestInSlices(this.#lane, agents.values(), MAX_LISTED, ({ bytes_received: bytes }) => bytes),
      asked_nodes: askedNodes(this.#questions, answers).map((node) => ({ ...node })),
    };
  }
}

async function busiest({ tunnels, agents }: AllFigures, lane: SliceLane): Promise<NodeTunnels> {
  return {
    tunnels: once(await greatestInSlices(lane, tunnels, MAX_LISTED, ({ requests }) => requests)),
    agents: once(await greatestInSlices(lane, agents, MAX_LISTED, ({ bytesReceived }) => bytesReceived)),
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
