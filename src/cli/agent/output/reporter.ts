import type { AgentEvent } from '../../../agent/events.ts';
import type { AgentHandle } from '../../../agent/handle.ts';

/** Tells a person, or a program, what the agent does. */
export interface Reporter {
  /** From now on there is an agent to look at. */
  started(agent: AgentHandle): void;
  event(event: AgentEvent): void;
  /** Something about the program itself. */
  note(level: 'info' | 'warn', message: string): void;
  /** Somebody asked for the end; what is under way may finish. */
  stopping(): void;
  /** The last word; the terminal is as it was. */
  end(): void;
}
