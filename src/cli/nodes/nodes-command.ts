import type { Command } from '../command.ts';

const HELP = `
Usage: postern nodes [FLAGS]

Lists the servers of this installation: name, status, version, agents and tunnels. A node that was lost is listed for ten minutes.
--watch repeats it until interrupted. The same as "postern api nodes list", with the same flags: "postern api nodes list --help" shows them.
`;

/** A short form of one API command. */
export function createNodesCommand(api: Command): Command {
  return { help: HELP, run: (args, context) => api.run(['nodes', 'list', ...args], context) };
}
