import { spawn } from 'node:child_process';
import { Transport } from '../../../client/transport.ts';
import { isOn, type ParsedFlags } from '../../../kit/flags.ts';
import { type ListenerOwner, listenOnce } from '../../../kit/guarded-listeners.ts';
import { fetchWith } from '../api/api-fetch.ts';
import { apiUrl, dataDirectory, findApiKey, isOnThisMachine } from '../api/connection.ts';
import { createTextSource } from '../api/text-source.ts';
import { type Command, type CommandContext, type CommandSyntax, INVALID_USAGE, parseCommand } from '../command.ts';
import { API_URL, switchFlag } from '../shared-flags.ts';
import { administratorLink, browserCommand, type LoginLink, loginLink } from './login-link.ts';

const SYNTAX: CommandSyntax = {
  name: 'open',
  about:
    'Opens the console in the browser, and prints its URL. Where there is no browser or no screen, it only prints the URL. On the machine of a server with an identity host and without an administrator, it prints a link that makes you the first one, and leaves opening it to you: it works once, for 24 hours. Otherwise, on a terminal of the machine of the server, as root, as the user of the server or with an API key, it opens a link that logs you in, and says as whom: it works once, for ten minutes, and its page asks for a code that the terminal shows. Without a screen, the printed link contains the code.',
  flags: [API_URL, switchFlag('print', 'Only print the URL.')],
  exitCodes: { 0: 'the URL is printed', 2: INVALID_USAGE },
};

export const openCommand: Command = {
  syntax: SYNTAX,
  run: async (args, context) => {
    const parsed = parseCommand(SYNTAX, args);
    const api = await apiUrl(parsed, context);
    const first = await firstLink(api, context);
    if (first !== null) {
      context.warn(
        'There is no administrator yet. This link makes you the first one, once, within 24 hours. It replaces earlier ones:',
      );
      context.print(first);
      // Nothing else proves who opens it, and every user of this machine can read the arguments of a browser.
      if (!isOn(parsed, 'print')) context.warn('Copy it into the address bar of your browser.');
      return 0;
    }
    const link = await linkFor(api, parsed, context);
    const url = link?.url ?? `${api}/console`;
    if (link !== null) context.warn(`This link logs you in as ${whose(link.name)}, once, within ten minutes:`);
    context.print(url);
    if (link !== null && link.code !== null) context.warn(`Its page asks for this code: ${link.code}`);
    const command = isOn(parsed, 'print') ? null : browserCommand(url, process.platform, context.env);
    if (command !== null && !(await start(command))) {
      context.warn(`postern: ${command[0]} is not installed: open the URL yourself`);
    }
    return 0;
  },
};

function whose(name: string): string {
  return name.startsWith('local:') ? `${name}, which stands for the user of the server` : `"${name}"`;
}

/** For people at a terminal only: the output of a script may end up in a log. */
async function firstLink(api: string, context: CommandContext): Promise<string | null> {
  return context.isTerminal && isOnThisMachine(api) ? administratorLink(await dataDirectory(context)) : null;
}

/** With the rights of this machine's user, or with an API key, if there is one. */
async function linkFor(api: string, parsed: ParsedFlags, context: CommandContext): Promise<LoginLink | null> {
  if (!context.isTerminal) return null;
  const key = await findApiKey(api, parsed, context, createTextSource());
  if (key === null || (key.renew === undefined && !isOnThisMachine(api))) return null;
  const transport = new Transport({ baseUrl: api, fetch: fetchWith(key), apiKey: key.key });
  return loginLink(transport, api, context.env).catch(() => null);
}

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
