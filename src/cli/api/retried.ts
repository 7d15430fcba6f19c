import type { PosternConnectionError } from '../../client/postern-connection-error.ts';
import type { CommandContext } from '../command.ts';
import { printable } from './cell-text.ts';
import { connectionText } from './connection-text.ts';

/** Tells a person once that a command which repeats its requests gets no answer, and once that it does again. */
export class Retried {
  readonly #context: CommandContext;
  #said: string | null = null;

  constructor(context: CommandContext) {
    this.#context = context;
  }

  failed(error: PosternConnectionError): void {
    const text = connectionText(error);
    if (text === this.#said) return;
    this.#said = text;
    this.#context.warn(`postern: ${printable(text)}. Retrying`);
  }

  succeeded(): void {
    if (this.#said !== null) this.#context.warn('postern: the server answers again');
    this.#said = null;
  }
}
