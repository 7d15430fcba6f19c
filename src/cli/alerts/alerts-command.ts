import type { Command } from '../command.ts';

const HELP = `
Usage: postern alerts [FLAGS]

Lists what is wrong now: agents that are away, failing backends, certificates that expire or fail, stuck deliveries, disks
that are nearly full, lost nodes. The same as "postern api alerts list", with the same flags: "postern api alerts list
--help" shows them.
`;

/** A short form of one API command. */
export function createAlertsCommand(api: Command): Command {
  return { help: HELP, run: (args, context) => api.run(['alerts', 'list', ...args], context) };
}
