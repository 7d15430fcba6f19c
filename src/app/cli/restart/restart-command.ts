import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { usage } from '../../../kit/flags.ts';
import { durationText } from '../../../kit/text/time.ts';
import {
  type Command,
  type CommandContext,
  type CommandSyntax,
  INVALID_USAGE,
  parseCommand,
  SETTINGS_EXIT_CODE,
} from '../command.ts';
import { serverSettings, settingsGroup } from '../server-settings.ts';
import { durationFlag, textFlag } from '../shared-flags.ts';
import {
  controlDirectory,
  DEFAULT_TIMEOUT_SECONDS,
  LONGEST_TIMEOUT_SECONDS,
  openSockets,
  type RestartReply,
  type RestartRequest,
  thisProgram,
} from './control-protocol.ts';

const LOOKS = 20;
const LOOK_AGAIN_MS = 100;

const SYNTAX: CommandSyntax = {
  name: 'restart',
  about:
    'Replaces the running server on this machine by a new process of this program, without failing a request. Run it from the new version to upgrade. The new process gets the flags, variables and listening sockets of the running one, and reads the configuration file again. If the new process cannot start, the running one continues.',
  flags: [
    textFlag('timeout', 'DURATION', 'Time for the new process to get ready, such as 90s or 5m.', {
      default: durationText(DEFAULT_TIMEOUT_SECONDS, 'seconds'),
    }),
    textFlag('pid', 'PID', 'Process of the server, if several use one data directory.'),
  ],
  groups: [settingsGroup('to find the server')],
  examples: ['sudo postern restart', 'postern restart --timeout 5m'],
  exitCodes: {
    0: 'the new process serves',
    1: 'the running server continues',
    2: INVALID_USAGE,
    ...SETTINGS_EXIT_CODE,
  },
};

export const restartCommand: Command = { syntax: SYNTAX, run };

async function run(args: readonly string[], context: CommandContext): Promise<number> {
  const { flags } = parseCommand(SYNTAX, args);
  const timeout = readTimeout(flags.get('timeout'));
  const { config } = await serverSettings(flags, context);
  const socket = await findServer(config.data_dir, flags.get('pid') ?? null);
  try {
    socket.write(
      `${JSON.stringify({ do: 'restart', ...thisProgram(), timeout_seconds: timeout } satisfies RestartRequest)}\n`,
    );
    for await (const line of createInterface({ input: socket })) {
      const reply = JSON.parse(line) as RestartReply;
      if ('say' in reply) context.print(reply.say);
      else if (reply.ok) {
        context.print(`Process ${reply.pid} serves now (version ${reply.version})`);
        return 0;
      } else {
        context.warn(`postern: ${reply.message}. The running server continues`);
        return 1;
      }
    }
    context.warn('postern: the server ended before it answered; see its log');
    return 1;
  } finally {
    socket.destroy();
  }
}

function readTimeout(text: string | undefined): number {
  if (text === undefined) return DEFAULT_TIMEOUT_SECONDS;
  return durationFlag('timeout', text, { unit: 'seconds', minimum: 1, maximum: LONGEST_TIMEOUT_SECONDS });
}

async function findServer(dataDir: string, pid: string | null): Promise<Socket> {
  const directory = controlDirectory(dataDir);
  let found = await openSockets(directory, pid);
  // A process that has just taken over opens its socket a moment later.
  for (let tries = 0; found?.length === 0 && tries < LOOKS; tries += 1) {
    await sleep(LOOK_AGAIN_MS);
    found = await openSockets(directory, pid);
  }
  const [only, ...others] = found ?? [];
  if (only !== undefined && others.length === 0) return only.socket;
  for (const { socket } of found ?? []) socket.destroy();
  const who = pid === null ? 'no server' : `no server with process ${pid}`;
  if (only === undefined)
    throw usage(
      `${who} that can hand over runs with the data directory ${dataDir}. Start one with "postern server", or name its data directory with --data-dir`,
    );
  const pids = (found ?? []).map(({ name }) => name.replace('.sock', '')).join(', ');
  throw usage(`several servers use the data directory ${dataDir} (processes ${pids}): choose one with --pid`);
}
