import { listSyntax } from '../api/list-syntax.ts';
import type { Command } from '../command.ts';

const ABOUT =
  'Lists what is wrong now: agents that are away, failing backends, certificates that expire or fail, stuck deliveries, disks that are nearly full, lost nodes.';

/** A short form of one API command. */
export function createAlertsCommand(api: Command): Command {
  return {
    get syntax() {
      return listSyntax('alerts', ABOUT);
    },
    run: (args, context) => api.run(['alerts', 'list', ...args], context),
  };
}
