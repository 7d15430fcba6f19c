import { channel } from 'node:diagnostics_channel';
import type { EventEmitter } from 'node:events';

/** An unexpected exception. It was contained: the process continues. */
export interface Bug {
  readonly error: unknown;
  /** Fields of the log line: the request, or the part of the program. */
  readonly facts: Readonly<Record<string, unknown>>;
}

/**
 * A diagnostics channel, because socket listeners have no logger, and passing one to each would clutter every
 * signature.
 */
const BUGS = channel('postern:bug');

export function reportBug(error: unknown, facts: Bug['facts']): void {
  if (BUGS.hasSubscribers) BUGS.publish({ error, facts } satisfies Bug);
  // An agent embedded in another program.
  else process.emitWarning(error instanceof Error ? error : String(error));
}

/** Returns a function that stops listening. */
export function onBug(listener: (bug: Bug) => void): () => void {
  const onMessage = (bug: unknown): void => listener(bug as Bug);
  BUGS.subscribe(onMessage);
  return () => {
    BUGS.unsubscribe(onMessage);
  };
}

/**
 * Owns the listeners of one connection or exchange. It receives the exceptions that they throw, reports them as bugs
 * and closes what it owns. Without an owner an exception in a listener ends the process. `AsyncLocalStorage` cannot
 * name the owner afterwards: it is empty in `uncaughtException` for listeners of sockets and of HTTP/2.
 */
export interface ListenerOwner {
  contain(error: unknown): void;
}

declare const GUARDED: unique symbol;
/** A listener whose exceptions go to its owner. */
type Guarded<Args extends unknown[]> = ((...args: Args) => void) & { readonly [GUARDED]: true };

/** Costs about 50 ns per event, and a closure per listener. */
export function guarded<Args extends unknown[]>(
  owner: ListenerOwner,
  listener: (...args: Args) => void,
): Guarded<Args> {
  const call = listener as (...args: unknown[]) => void;
  // No runtime event has more arguments; rest parameters would allocate a list for every event.
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

/** Runs before existing listeners. */
export function listenOnceFirst<Args extends unknown[]>(
  emitter: EventEmitter,
  event: string,
  owner: ListenerOwner,
  listener: (...args: Args) => void,
): void {
  emitter.prependOnceListener(event, guarded(owner, listener));
}

/** For listeners that are removed again. */
export function attach<Args extends unknown[]>(emitter: EventEmitter, event: string, listener: Guarded<Args>): void {
  emitter.on(event, listener);
}

/** For servers, whose events concern different connections: the event names the owner. */
export function listenPer<Listener extends (...args: never[]) => void>(
  emitter: EventEmitter,
  event: string,
  ownerOf: (...args: Parameters<Listener>) => ListenerOwner,
  listener: Listener,
): void {
  const call = listener as unknown as (...args: unknown[]) => void;
  // See `guarded`: no list for every event.
  emitter.on(event, (first: unknown, second: unknown, third: unknown, fourth: unknown) => {
    try {
      call(first, second, third, fourth);
    } catch (error) {
      ownerOf(...([first, second, third, fourth] as unknown as Parameters<Listener>)).contain(error);
    }
  });
}

/** An 'error' event without a listener is thrown; use this where another event reports the failure. */
export function ignoreErrors<Emitter extends EventEmitter>(emitter: Emitter): Emitter {
  emitter.on('error', noop);
  return emitter;
}

/** Owner of a connection about which nothing else is known. */
export function closing(connection: { destroy(): unknown }, part: string): ListenerOwner {
  return {
    contain: (error) => {
      connection.destroy();
      reportBug(error, { part });
    },
  };
}

/** Owner of listeners that concern no particular connection. */
export function reporting(part: string): ListenerOwner {
  return { contain: (error) => reportBug(error, { part }) };
}

function noop(): void {}
