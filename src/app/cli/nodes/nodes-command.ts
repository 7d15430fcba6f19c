import { listSyntax } from '../api/operation-flags.ts';
import type { Command } from '../command.ts';

const ABOUT =
  'Lists the nodes of this installation: name, status, version, agents and tunnels. A node that was lost is listed for ten minutes.';

/** A short form of one API command. */
export function createNodesCommand(api: Command): Command {
  return {
    get syntax() {
      return listSyntax('nodes', ABOUT);
    },
    run: (args, context) => api.run(['nodes', 'list', ...args], context),
  };
}
