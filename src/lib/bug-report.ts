import { channel } from 'node:diagnostics_channel';

/** Something was thrown that nobody expected. It was contained: the process goes on. */
export interface Bug {
  readonly error: unknown;
  /** For the log line: the request, or which part of the program. */
  readonly facts: Readonly<Record<string, unknown>>;
}

/** A channel of the runtime, because listeners of sockets have no way of their own to the log, and nobody is to pass one to each. */
const BUGS = channel('postern:bug');

export function reportBug(error: unknown, facts: Bug['facts']): void {
  if (BUGS.hasSubscribers) BUGS.publish({ error, facts } satisfies Bug);
  // An agent inside another program.
  else process.emitWarning(error instanceof Error ? error : String(error));
}

/** Answers how to stop listening. */
export function onBug(listener: (bug: Bug) => void): () => void {
  const onMessage = (bug: unknown): void => listener(bug as Bug);
  BUGS.subscribe(onMessage);
  return () => {
    BUGS.unsubscribe(onMessage);
  };
}
