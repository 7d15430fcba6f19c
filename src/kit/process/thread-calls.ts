import type { Transferable } from 'node:worker_threads';
import { type SliceBudget, TimeSlice } from '../async/slices.ts';
import { reportBug } from '../guarded-listeners.ts';
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
  /** Messages that wait for those before them. Null: none does. */
  #outbox: Message[] | null = null;
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
      this.#post({ name, args, id: this.#lastId }, handedOver);
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
    if (this.#end === null) this.#post({ name, args }, handedOver);
  }

  /**
   * Calls without an answer, which are copied over as many turns of the event loop as they need. What is sent later
   * follows them.
   */
  tellInSlices<Name extends keyof Remote & string>(
    name: Name,
    argsOfEach: readonly (Remote[Name] extends (...args: infer Args) => unknown ? Args : never)[],
    budget: SliceBudget,
  ): void {
    const isSending = this.#outbox !== null;
    this.#outbox ??= [];
    for (const args of argsOfEach) this.#outbox.push({ name, args });
    if (!isSending) void this.#sendOutbox(this.#outbox, new TimeSlice(budget));
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
    this.#post({ id, outcome }, []);
  }

  /** What is handed over does not wait: it is not about what was sent before, and may be gone by then. */
  #post(message: Message, handedOver: readonly Transferable[]): void {
    if (this.#outbox === null || handedOver.length > 0) this.#port.postMessage(message, [...handedOver]);
    else this.#outbox.push(message);
  }

  async #sendOutbox(outbox: Message[], slice: TimeSlice): Promise<void> {
    for (let at = 0; at < outbox.length && this.#end === null; at += 1) {
      if (slice.isOver) await slice.next();
      this.#sendLate(outbox[at] as Message);
    }
    this.#outbox = null;
  }

  #sendLate(message: Message): void {
    const { id = 0, outcome, name } = message;
    try {
      this.#port.postMessage(message);
    } catch (error) {
      // Something in it cannot be copied.
      if (outcome !== undefined) this.#answer(id, { ok: false, error: toWire(error) });
      else if (this.#pending.has(id)) this.#settle(id, { ok: false, error: toWire(error) });
      else reportBug(error, { part: `thread call ${name}` });
    }
  }
}
