import type { EventEmitter } from 'node:events';
import { reportBug } from './bug-report.ts';

/**
 * Answers for the listeners of one connection or exchange: told what they throw, it reports the bug and closes what it owns. Without
 * an owner an exception in a listener ends the process. `AsyncLocalStorage` cannot name the owner afterwards: it is empty in
 * `uncaughtException` for listeners of sockets and of HTTP/2.
 */
export interface ListenerOwner {
  contain(error: unknown): void;
}

declare const GUARDED: unique symbol;
/** What it throws goes to its owner. */
export type Guarded<Args extends unknown[]> = ((...args: Args) => void) & { readonly [GUARDED]: true };

/** Costs about 50 ns for each event, and a closure for each listener. */
export function guarded<Args extends unknown[]>(
  owner: ListenerOwner,
  listener: (...args: Args) => void,
): Guarded<Args> {
  const call = listener as (...args: unknown[]) => void;
  // No event of the runtime has more arguments; rest parameters would allocate a list for every event.
  const guard = (first: unknown, second: unknown, third: unknown, fourth: unknown): void => {
    try {
      call(first, second, third, fourth);
    } catch (error) {
      owner.contain(error);
    }
  };
  return guard as unknown as Guarded<Args>;
}

export function listen<Args extends unknown[]>(
  emitter: EventEmitter,
  event: string,
  owner: ListenerOwner,
  listener: (...args: Args) => void,
): void {
  emitter.on(event, guarded(owner, listener));
}

export function listenOnce<Args extends unknown[]>(
  emitter: EventEmitter,
  event: string,
  owner: ListenerOwner,
  listener: (...args: Args) => void,
): void {
  emitter.once(event, guarded(owner, listener));
}

/** Runs before the listeners that are there already. */
export function listenOnceFirst<Args extends unknown[]>(
  emitter: EventEmitter,
  event: string,
  owner: ListenerOwner,
  listener: (...args: Args) => void,
): void {
  emitter.prependOnceListener(event, guarded(owner, listener));
}

/** For listeners that are taken off again. */
export function attach<Args extends unknown[]>(emitter: EventEmitter, event: string, listener: Guarded<Args>): void {
  emitter.on(event, listener);
}

/** For servers, whose events are about one connection or another: the event says who answers for it. */
export function listenPer<Listener extends (...args: never[]) => void>(
  emitter: EventEmitter,
  event: string,
  ownerOf: (...args: Parameters<Listener>) => ListenerOwner,
  listener: Listener,
): void {
  emitter.on(event, (...args) => {
    try {
      listener(...(args as never[]));
    } catch (error) {
      ownerOf(...(args as Parameters<Listener>)).contain(error);
    }
  });
}

/** An error that nobody listens to is thrown; of this one something else tells. */
export function ignoreErrors<Emitter extends EventEmitter>(emitter: Emitter): Emitter {
  emitter.on('error', noop);
  return emitter;
}

/** Answers for a connection of which nothing else is known. */
export function closing(connection: { destroy(): unknown }, part: string): ListenerOwner {
  return {
    contain: (error) => {
      connection.destroy();
      reportBug(error, { part });
    },
  };
}

/** Answers for what is about no connection in particular. */
export function reporting(part: string): ListenerOwner {
  return { contain: (error) => reportBug(error, { part }) };
}

function noop(): void {}
