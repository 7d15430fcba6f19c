import type { JsonObject } from '../../kit/json.ts';

/** Questions to the other nodes. */
export interface OtherNodes {
  readonly ownName: string;
  answer(kind: string, answer: (question: JsonObject) => JsonObject | Promise<JsonObject>): void;
  askOthers(question: JsonObject & { readonly kind: string }): Promise<readonly AnsweringNode[]>;
}

/** The threads of this node that serve traffic: each keeps what it knows, and is asked for it. */
export interface OwnThreads {
  /** The answers of all that answer. */
  ask(question: JsonObject & { readonly kind: string }): Promise<readonly JsonObject[]>;
}

export const NO_THREADS: OwnThreads = { ask: () => Promise.resolve([]) };

export interface AnsweringNode {
  readonly name: string;
  /** Null: it did not answer. */
  readonly answer: JsonObject | null;
  readonly problem: string;
}

/** Whether a node answered, for those who read the result. */
export interface AskedNode {
  readonly name: string;
  readonly answered: boolean;
  readonly problem?: string;
}

/** This node, and those that were asked. */
export function askedNodes({ ownName }: OtherNodes, answers: readonly AnsweringNode[]): readonly AskedNode[] {
  return [
    { name: ownName, answered: true },
    ...answers.map(({ name, answer, problem }) =>
      answer === null ? { name, answered: false, problem } : { name, answered: true },
    ),
  ];
}
