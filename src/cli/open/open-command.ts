import { spawn } from 'node:child_process';
import { isOn } from '../../lib/flags.ts';
import { type ListenerOwner, listenOnce } from '../../lib/guarded-listeners.ts';
import { apiUrl } from '../api/connection.ts';
import type { Command } from '../command.ts';
import { type CommandSyntax, INVALID_USAGE } from '../command-syntax.ts';
import { parseCommand } from '../parse-command.ts';
import { API_URL, switchFlag } from '../shared-flags.ts';
import { browserCommand } from './browser-command.ts';

const SYNTAX: CommandSyntax = {
  name: 'open',
  about:
    'Opens the console in the browser, and prints its URL. Where there is no browser or no screen, it only prints the URL.',
  flags: [API_URL, switchFlag('print', 'Only print the URL.')],
  exitCodes: { 0: 'the URL is printed', 2: INVALID_USAGE },
};

export const openCommand: Command = {
  syntax: SYNTAX,
  run: async (args, context) => {
    const parsed = parseCommand(SYNTAX, args);
    const url = `${apiUrl(parsed, context)}/console`;
    context.print(url);
    const command = isOn(parsed, 'print') ? null : browserCommand(url, process.platform, context.env);
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
