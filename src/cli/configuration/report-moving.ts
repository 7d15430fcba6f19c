import type { CommandContext } from '../command.ts';

const EXIT_CONFLICT = 3;

/** The configuration has no state that the command could read as a whole. */
export function reportMoving(context: CommandContext): number {
  context.warn('postern: the configuration changed each time while it was read: try again when fewer changes are made');
  return EXIT_CONFLICT;
}
