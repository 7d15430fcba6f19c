import type { Done } from '../tunnel/messages.ts';
import type { SessionConnection } from './session-connection.ts';

const ANSWER_WITHIN_MS = 5_000;

/** `refused`: the agent's own message. */
export type CommandOutcome = 'accepted' | 'unreachable' | { readonly refused: string };

interface Sent {
  readonly connection: SessionConnection;
  settle(outcome: CommandOutcome): void;
}

/** Commands sent to agents and not yet answered. */
export class SentCommands {
  readonly #waiting = new Map<number, Sent>();
  #lastId = 0;

  send(connection: SessionConnection, command: 'stop' | 'restart' | 'update'): Promise<CommandOutcome> {
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#settle(id, 'unreachable'), ANSWER_WITHIN_MS);
      this.#waiting.set(id, {
        connection,
        settle: (outcome) => {
          clearTimeout(timer);
          resolve(outcome);
        },
      });
      connection.send({ t: 'command', id, command });
    });
  }

  done(connection: SessionConnection, { id, ok, message }: Done): void {
    if (this.#waiting.get(id)?.connection === connection) this.#settle(id, ok ? 'accepted' : { refused: message });
  }

  lost(connection: SessionConnection): void {
    for (const [id, sent] of this.#waiting) if (sent.connection === connection) this.#settle(id, 'unreachable');
  }

  #settle(id: number, outcome: CommandOutcome): void {
    const sent = this.#waiting.get(id);
    this.#waiting.delete(id);
    sent?.settle(outcome);
  }
}
