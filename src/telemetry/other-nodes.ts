import type { JsonObject } from '../lib/json.ts';

/** Questions to the other nodes. */
export interface OtherNodes {
  readonly ownName: string;
  answer(kind: string, answer: (question: JsonObject) => JsonObject | Promise<JsonObject>): void;
  askOthers(question: JsonObject & { readonly kind: string }): Promise<readonly AnsweringNode[]>;
}

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
