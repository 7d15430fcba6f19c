import type { JsonObject } from '../../lib/json.ts';
import type { AgentFigures, NodeTunnels, TunnelFigures } from '../../lib/tunnel-figures.ts';
import { packedTunnels, rounded, unpackedTunnels } from './node-tunnels.ts';

/** Questions to the other nodes, as this part needs them. */
export interface TunnelQuestions {
  readonly ownName: string;
  answer(kind: string, answer: (question: JsonObject) => JsonObject): void;
  askOthers(
    question: JsonObject & { readonly kind: string },
  ): Promise<readonly { readonly name: string; readonly answer: JsonObject | null; readonly problem: string }[]>;
}

const KIND = 'tunnels.traffic';
/** More than a page shows; a line of a live view stays below 200 kB. */
const MAX_LISTED = 1_000;

/** Latency of agents and traffic of tunnels, over all nodes: each knows its own visitors and connections. */
export class InstallationTunnels {
  readonly #own: () => NodeTunnels;
  readonly #questions: TunnelQuestions;

  constructor(own: () => NodeTunnels, questions: TunnelQuestions) {
    this.#own = own;
    this.#questions = questions;
    questions.answer(KIND, () => packedTunnels(busiest(own())));
  }

  async document(): Promise<JsonObject> {
    const answers = await this.#questions.askOthers({ kind: KIND });
    const { ownName } = this.#questions;
    const tunnels = new Map<string, TunnelFigures>();
    const agents = new Map<string, JsonObject>();
    const add = (node: string, figures: NodeTunnels): void => {
      for (const each of figures.tunnels) tunnels.set(each.id, sumOf(tunnels.get(each.id), each));
      for (const each of figures.agents) agents.set(each.id, withConnections(agents.get(each.id), each, node));
    };
    add(ownName, busiest(this.#own()));
    for (const { name, answer } of answers) if (answer !== null) add(name, unpackedTunnels(answer));
    return {
      tunnels: [...tunnels.values()].slice(0, MAX_LISTED).map(({ id, requests, inProgress, bytesIn, bytesOut }) => ({
        ...{ id, requests, in_progress: inProgress, bytes_in: bytesIn, bytes_out: bytesOut },
      })),
      agents: [...agents.values()].slice(0, MAX_LISTED),
      asked_nodes: [
        { name: ownName, answered: true },
        ...answers.map(({ name, answer, problem }) =>
          answer === null ? { name, answered: false, problem } : { name, answered: true },
        ),
      ],
    };
  }
}

function busiest({ tunnels, agents }: NodeTunnels): NodeTunnels {
  return {
    tunnels: first(tunnels, (one, other) => other.requests - one.requests),
    agents: first(agents, (one, other) => other.bytesReceived - one.bytesReceived),
  };
}

function first<Item>(all: readonly Item[], order: (one: Item, other: Item) => number): readonly Item[] {
  return all.length <= MAX_LISTED ? all : all.toSorted(order).slice(0, MAX_LISTED);
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

function withConnections(known: JsonObject | undefined, agent: AgentFigures, node: string): JsonObject {
  const { id, roundTripsMs, bytesReceived, bytesSent } = agent;
  const here = roundTripsMs.map((ms) => ({ node, round_trip_ms: rounded(ms) }));
  return {
    id,
    bytes_received: Number(known?.['bytes_received'] ?? 0) + bytesReceived,
    bytes_sent: Number(known?.['bytes_sent'] ?? 0) + bytesSent,
    connections: [...((known?.['connections'] ?? []) as JsonObject[]), ...here],
  };
}
