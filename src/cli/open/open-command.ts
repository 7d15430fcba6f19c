import { spawn } from 'node:child_process';
import { parseFlags, usage } from '../../lib/flags.ts';
import { type ListenerOwner, listenOnce } from '../../lib/guarded-listeners.ts';
import { apiUrl } from '../api/connection.ts';
import type { Command } from '../command.ts';
import { browserCommand } from './browser-command.ts';

const HELP = `
Usage: postern open [FLAGS]

Opens the console in the browser, and prints its URL. Where there is no browser or no screen, it only prints the URL.

  --api-url URL   URL of the API (default: POSTERN_CLI_API_URL, otherwise http://127.0.0.1:7080)
  --print         only print the URL
`;

const FLAGS = new Map([
  ['api-url', 'value'],
  ['print', 'switch'],
] as const);

export const openCommand: Command = {
  help: HELP,
  run: async (args, context) => {
    const { flags, positionals } = parseFlags(args, FLAGS);
    if (positionals[0] !== undefined) throw usage('postern open takes no arguments, only flags');
    const given = flags.get('api-url');
    const values = new Map(given === undefined ? [] : [['api-url', [given]]]);
    const url = `${apiUrl({ values, positionals: [] }, context)}/console`;
    context.print(url);
    const command = flags.has('print') ? null : browserCommand(url, process.platform, context.env);
    if (command !== null && !(await start(command))) {
      context.warn(`postern: ${command[0]} is not installed: open the URL yourself`);
    }
    return 0;
  },
};

/** Whether the program exists. It outlives this command. */
function start([program, ...args]: readonly [string, ...string[]]): Promise<boolean> {
  return new Promise((resolve) => {
    const owner: ListenerOwner = { contain: () => resolve(false) };
    const child = spawn(program, args, { detached: true, stdio: 'ignore' });
    listenOnce(child, 'error', owner, () => resolve(false));
    listenOnce(child, 'spawn', owner, () => {
      child.unref();
      resolve(true);
    });
  });
}
