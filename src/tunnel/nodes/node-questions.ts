import type { JsonObject } from '../../kit/json.ts';
import { type PeerLinks, PeerRefusal, PeerUnreachable } from './links/peer-links.ts';
import type { Membership } from './membership/membership.ts';

/** A question that only reads, such as a question about the requests that a node has served. */
export interface Question extends JsonObject {
  readonly kind: string;
}

export type AnswerQuestion = (question: JsonObject) => JsonObject | Promise<JsonObject>;

/** The answer of another node. */
export interface NodeAnswer {
  readonly id: string;
  readonly name: string;
  /** Null when the node did not answer. */
  readonly answer: JsonObject | null;
  /** Why the node did not answer; empty when it did. */
  readonly problem: string;
}

const METHOD = 'node.ask';
const TIMEOUT_MS = 2_000;
/** Size of an answer, such as a page of a list. The function that answers must stay below this size. */
const MAX_ANSWER_BYTES = 1_048_576;

/** Questions to other nodes, by kind. Without links this node is the only node. */
export class NodeQuestions {
  readonly #membership: Pick<Membership, 'self' | 'nodes'>;
  readonly #links: Pick<PeerLinks, 'call'> | null;
  readonly #answers = new Map<string, AnswerQuestion>();

  constructor(membership: Pick<Membership, 'self' | 'nodes'>, links: Pick<PeerLinks, 'call' | 'serve'> | null) {
    this.#membership = membership;
    this.#links = links;
    links?.serve(METHOD, (message) => this.#answer(message), MAX_ANSWER_BYTES);
  }

  get ownName(): string {
    return this.#membership.self.name;
  }

  /** Registers the function that answers questions of this kind; one per kind. */
  answer(kind: string, answer: AnswerQuestion): void {
    if (this.#answers.has(kind)) throw new Error(`the question ${kind} is answered already`);
    this.#answers.set(kind, answer);
  }

  async #answer(question: JsonObject): Promise<JsonObject> {
    const { kind } = question;
    const answer = typeof kind === 'string' ? this.#answers.get(kind) : undefined;
    if (answer === undefined) throw new PeerRefusal('unknown_question', 'this node does not know the question');
    return answer(question);
  }

  /** Rejects with PeerRefusal or PeerUnreachable. */
  async ask(nodeId: string, question: Question): Promise<JsonObject> {
    if (this.#links === null) throw new PeerUnreachable(`${nodeId} is not linked`);
    return this.#links.call(nodeId, METHOD, question, TIMEOUT_MS, MAX_ANSWER_BYTES);
  }

  /** Asks all other nodes at once, except lost nodes. */
  askOthers(question: Question): Promise<readonly NodeAnswer[]> {
    const others = this.#membership
      .nodes()
      .filter(({ id, status }) => id !== this.#membership.self.id && status !== 'lost');
    return Promise.all(
      others.map(async ({ id, name }): Promise<NodeAnswer> => {
        try {
          return { id, name, answer: await this.ask(id, question), problem: '' };
        } catch (error) {
          if (!(error instanceof PeerRefusal || error instanceof PeerUnreachable)) throw error;
          return { id, name, answer: null, problem: error.message };
        }
      }),
    );
  }
}
