import type { AgentEvent } from '../../../agent/events.ts';
import type { AgentHandle } from '../../../agent/handle.ts';

/** Reports what the agent does, to a person or to a program. */
export interface Reporter {
  /** The agent exists from now on. */
  started(agent: AgentHandle): void;
  event(event: AgentEvent): void;
  /** A message about the program itself. */
  note(level: 'info' | 'warn', message: string, fields?: Readonly<Record<string, unknown>>): void;
  /** The end was requested; requests in progress may finish. */
  stopping(): void;
  /** The last call; the terminal is restored. */
  end(): void;
}
