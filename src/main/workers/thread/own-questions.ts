import type { JsonObject } from '../../../lib/json.ts';
import type { AnsweringNode, OtherNodes } from '../../../telemetry/other-nodes.ts';

/** Questions that the main thread asks a worker, which itself asks nobody. */
export class OwnQuestions implements OtherNodes {
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
