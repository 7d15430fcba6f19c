import { channel } from 'node:diagnostics_channel';

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
