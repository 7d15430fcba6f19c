import type { Transferable } from 'node:worker_threads';
import { reportBug } from '../bug-report.ts';
import { fromWire, toWire, type WireOutcome } from './wire-error.ts';

/** Functions that one thread offers to another. Arguments and results are copied. */
// biome-ignore lint/suspicious/noExplicitAny: each side states its own parameters
export type ThreadMethods = Readonly<Record<string, (...args: any[]) => unknown>>;

/** A worker, or the port to the thread that started this one. */
export interface ThreadPort {
  postMessage(message: unknown, handedOver?: Transferable[]): void;
  on(event: 'message', listener: (message: Message) => void): unknown;
}

interface Message {
  readonly name?: string;
  readonly args?: readonly unknown[];
  /** The number of a call that waits for its answer; absent: nobody does. */
  readonly id?: number;
  readonly outcome?: WireOutcome;
}

/**
 * Calls between two threads, in the order in which they were made. An answer follows everything that the answering
 * thread sent before it. When the other thread has ended, what waits for it fails.
 */
export class ThreadCalls<Remote> {
  readonly #port: ThreadPort;
  readonly #own: ThreadMethods;
  readonly #pending = new Map<number, PromiseWithResolvers<unknown>>();
  #lastId = 0;
  #end: Error | null = null;

  constructor(port: ThreadPort, own: ThreadMethods) {
    this.#port = port;
    this.#own = own;
    port.on('message', (message) => this.#receive(message));
  }

  call<Name extends keyof Remote & string>(
    name: Name,
    ...args: Remote[Name] extends (...args: infer Args) => unknown ? Args : never
  ): Promise<Remote[Name] extends (...args: never[]) => infer Result ? Awaited<Result> : never> {
    return this.callWith(name, args, []);
  }

  /** With things that are handed over. */
  callWith<Name extends keyof Remote & string>(
    name: Name,
    args: Remote[Name] extends (...args: infer Args) => unknown ? Args : never,
    handedOver: readonly Transferable[],
  ): Promise<Remote[Name] extends (...args: never[]) => infer Result ? Awaited<Result> : never> {
    if (this.#end !== null) return Promise.reject(this.#end);
    this.#lastId += 1;
    const waiting = Promise.withResolvers<unknown>();
    try {
      this.#port.postMessage({ name, args, id: this.#lastId } satisfies Message, [...handedOver]);
    } catch (error) {
      // Something in it cannot be copied or handed over.
      return Promise.reject(error);
    }
    this.#pending.set(this.#lastId, waiting);
    return waiting.promise as never;
  }

  /** Without an answer. */
  tell<Name extends keyof Remote & string>(
    name: Name,
    args: Remote[Name] extends (...args: infer Args) => unknown ? Args : never,
    handedOver: readonly Transferable[] = [],
  ): void {
    if (this.#end === null) this.#port.postMessage({ name, args } satisfies Message, [...handedOver]);
  }

  /** The other thread has ended. */
  end(reason: Error): void {
    this.#end = reason;
    const failed = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of failed) reject(reason);
  }

  #receive({ name, args = [], id, outcome }: Message): void {
    if (outcome !== undefined) this.#settle(id ?? 0, outcome);
    else if (name !== undefined) void this.#run(name, args, id);
  }

  #settle(id: number, outcome: WireOutcome): void {
    const waiting = this.#pending.get(id);
    this.#pending.delete(id);
    if (outcome.ok) waiting?.resolve(outcome.value);
    else waiting?.reject(fromWire(outcome.error));
  }

  async #run(name: string, args: readonly unknown[], id: number | undefined): Promise<void> {
    try {
      const result = this.#own[name]?.(...args);
      const value = result instanceof Promise ? await result : result;
      if (id !== undefined) this.#answer(id, { ok: true, value });
    } catch (error) {
      if (id === undefined) reportBug(error, { part: `thread call ${name}` });
      else this.#answer(id, { ok: false, error: toWire(error) });
    }
  }

  #answer(id: number, outcome: WireOutcome): void {
    this.#port.postMessage({ id, outcome } satisfies Message);
  }
}
