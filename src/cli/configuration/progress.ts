import type { CommandContext } from '../command.ts';

const INTERVAL_MS = 2000;

/** Tells on standard error what a long command does, at most every two seconds: short ones say nothing. */
export class Progress {
  readonly #context: CommandContext;
  #nextAtMs = performance.now() + INTERVAL_MS;

  constructor(context: CommandContext) {
    this.#context = context;
  }

  report(text: string): void {
    const nowMs = performance.now();
    if (nowMs < this.#nextAtMs) return;
    this.#nextAtMs = nowMs + INTERVAL_MS;
    this.#context.warn(`postern: ${text}`);
  }
}
