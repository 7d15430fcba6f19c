import { once } from 'node:events';
import { isatty } from 'node:tty';
import type { TunnelCommandName } from '../cli/agent/agent-flags.ts';
import { type Command, type CommandContext, isHelp } from '../cli/command.ts';
import { problemText } from '../cli/problem-text.ts';
import { wrapHelp } from '../cli/wrap-help.ts';
import { PosternError } from '../lib/errors.ts';
import { didYouMean } from '../lib/near-match.ts';
import { tuneRuntime } from '../lib/tune-runtime.ts';
import { mainErrors } from './errors.ts';
import { programVersion } from './version.ts';

interface CommandRow {
  readonly name: string;
  readonly summary: string;
  /** Loaded only when it runs: `--help` needs no database driver. */
  load(): Promise<Command>;
  /** It runs until it is stopped, whether or not anybody reads its output. */
  readonly isLongRunning?: true;
}

const COMMANDS: readonly CommandRow[] = [
  {
    name: 'server',
    summary: 'start the server',
    isLongRunning: true,
    load: async () => (await import('./commands/server-command.ts')).serverCommand,
  },
  {
    name: 'restart',
    summary: 'replace the running server by a new process without failing a request',
    load: async () => (await import('../cli/restart/restart-command.ts')).restartCommand,
  },
  {
    name: 'http',
    summary: 'expose a local HTTP service at a public address',
    isLongRunning: true,
    load: () => loadTunnelCommand('http'),
  },
  {
    name: 'tcp',
    summary: 'expose a local TCP service on a port of the server',
    isLongRunning: true,
    load: () => loadTunnelCommand('tcp'),
  },
  {
    name: 'tls',
    summary: 'expose a local TLS service under a public name; its private key stays local',
    isLongRunning: true,
    load: () => loadTunnelCommand('tls'),
  },
  {
    name: 'tunnel',
    summary: 'add a local service to tunnel group backends by labels',
    isLongRunning: true,
    load: () => loadTunnelCommand('tunnel'),
  },
  {
    name: 'start',
    summary: 'start the tunnels of a configuration file',
    isLongRunning: true,
    load: async () => {
      const [{ createStartCommand }, { agentPorts }] = await Promise.all([
        import('../cli/agent/start-command.ts'),
        import('./commands/agent-ports.ts'),
      ]);
      return createStartCommand(agentPorts());
    },
  },
  {
    name: 'config',
    summary: "check an agent's configuration file",
    load: async () => {
      const [{ createConfigCommand }, { agentPorts }] = await Promise.all([
        import('../cli/agent/config-command.ts'),
        import('./commands/agent-ports.ts'),
      ]);
      return createConfigCommand(agentPorts());
    },
  },
  {
    name: 'store',
    summary: 'back up, restore or re-key the store, or create an API key when locked out',
    load: async () => {
      const [{ createStoreCommand }, { storePorts }] = await Promise.all([
        import('../cli/store/store-command.ts'),
        import('./commands/store-ports.ts'),
      ]);
      return createStoreCommand(storePorts);
    },
  },
  {
    name: 'service',
    summary: 'run the server or the agent as a systemd service',
    load: async () => {
      const [{ createServiceCommand }, { servicePorts }] = await Promise.all([
        import('../cli/service/service-command.ts'),
        import('./commands/service-ports.ts'),
      ]);
      return createServiceCommand(servicePorts);
    },
  },
  {
    name: 'ca',
    summary: 'print the internal CAs and how to trust them',
    load: async () => {
      const [{ createCaCommand }, { caPorts }] = await Promise.all([
        import('../cli/ca/ca-command.ts'),
        import('./commands/ca-ports.ts'),
      ]);
      return createCaCommand(caPorts);
    },
  },
  {
    name: 'api',
    summary: 'call the management API',
    load: loadApiCommand,
  },
  {
    name: 'nodes',
    summary: 'list the servers of this installation',
    load: async () => {
      const [{ createNodesCommand }, api] = await Promise.all([
        import('../cli/nodes/nodes-command.ts'),
        loadApiCommand(),
      ]);
      return createNodesCommand(api);
    },
  },
  {
    name: 'edge',
    summary: 'serve a host: edge, route, backend and login in one change',
    load: async () => (await import('../cli/edge/edge-command.ts')).edgeCommand,
  },
  {
    name: 'status',
    summary: 'show server, nodes, edges, agents and problems on one screen',
    load: async () => {
      const [{ statusCommand }, { ignoreClosedPipe }] = await Promise.all([
        import('../cli/status/status-command.ts'),
        import('../cli/api/ignore-closed-pipe.ts'),
      ]);
      ignoreClosedPipe();
      return statusCommand;
    },
  },
  {
    name: 'events',
    summary: 'watch events as they happen, or replay deliveries',
    load: async () => {
      const [{ eventsCommand }, { ignoreClosedPipe }] = await Promise.all([
        import('../cli/events/events-command.ts'),
        import('../cli/api/ignore-closed-pipe.ts'),
      ]);
      ignoreClosedPipe();
      return eventsCommand;
    },
  },
  {
    name: 'export',
    summary: 'write the configuration as a YAML file',
    load: async () => {
      const [{ exportCommand }, { ignoreClosedPipe }] = await Promise.all([
        import('../cli/configuration/export-command.ts'),
        import('../cli/api/ignore-closed-pipe.ts'),
      ]);
      ignoreClosedPipe();
      return exportCommand;
    },
  },
  {
    name: 'validate',
    summary: 'check configuration files without a server',
    load: async () => (await import('../cli/configuration/validate-command.ts')).validateCommand,
  },
  {
    name: 'changes',
    summary: 'list changes of the configuration, show one, or verify the history',
    load: async () => {
      const [{ changesCommand }, { ignoreClosedPipe }] = await Promise.all([
        import('../cli/changes/changes-command.ts'),
        import('../cli/api/ignore-closed-pipe.ts'),
      ]);
      ignoreClosedPipe();
      return changesCommand;
    },
  },
  {
    name: 'undo',
    summary: 'take a change of the configuration back',
    load: async () => (await import('../cli/changes/undo-command.ts')).undoCommand,
  },
  {
    name: 'access',
    summary: 'test access rules, or review who passes them',
    load: async () => {
      const [{ accessCommand }, { ignoreClosedPipe }] = await Promise.all([
        import('../cli/access/access-command.ts'),
        import('../cli/api/ignore-closed-pipe.ts'),
      ]);
      ignoreClosedPipe();
      return accessCommand;
    },
  },
  {
    name: 'doctor',
    summary: 'check an installation and report problems with their remedies',
    load: async () => {
      const [{ createDoctorCommand }, { doctorPorts }] = await Promise.all([
        import('../cli/doctor/doctor-command.ts'),
        import('./commands/doctor-ports.ts'),
      ]);
      return createDoctorCommand(doctorPorts);
    },
  },
  {
    name: 'upgrade-check',
    summary: 'compare the store with this program before you switch to it',
    load: async () => {
      const [{ createUpgradeCheckCommand }, { upgradePorts }] = await Promise.all([
        import('../cli/upgrade/upgrade-check-command.ts'),
        import('./commands/upgrade-ports.ts'),
      ]);
      return createUpgradeCheckCommand(upgradePorts());
    },
  },
  {
    name: 'health',
    summary: 'ask the server on this machine whether it is healthy',
    load: async () => (await import('../cli/health/health-command.ts')).healthCommand,
  },
  {
    name: 'completion',
    summary: 'print a completion script for bash, zsh or fish',
    load: async () => (await import('../cli/completion/completion-command.ts')).createCompletionCommand(COMMANDS),
  },
];

async function loadApiCommand(): Promise<Command> {
  const [{ createApiCommand }, { operationList }, { ignoreClosedPipe }] = await Promise.all([
    import('../cli/api/api-command.ts'),
    import('../cli/api/operation-list.ts'),
    import('../cli/api/ignore-closed-pipe.ts'),
  ]);
  ignoreClosedPipe();
  return createApiCommand(operationList());
}

async function loadTunnelCommand(name: TunnelCommandName): Promise<Command> {
  const [{ createTunnelCommand }, { agentPorts }] = await Promise.all([
    import('../cli/agent/tunnel-command.ts'),
    import('./commands/agent-ports.ts'),
  ]);
  return createTunnelCommand(name, agentPorts());
}

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
const USAGE_CODES = new Set(['ERR_POSTERN_USAGE', 'ERR_POSTERN_COMMAND']);

/** Called by the launcher. */
export async function main(): Promise<void> {
  tuneRuntime();
  const args = process.argv.slice(2);
  const isLongRunning = COMMANDS.some((command) => command.name === args[0] && command.isLongRunning === true);
  process.exitCode = await runCli(args, {
    env: process.env,
    isTerminal: process.stdout.isTTY === true,
    warn: (line) => process.stderr.write(`${line}\n`),
    ...(isatty(0) &&
      isatty(2) && { ask: async (question) => (await import('../cli/ask-question.ts')).askQuestion(question) }),
    onInterrupt,
    ...(isLongRunning ? (await import('../logging/standard-output.ts')).droppingPrinter() : waitingPrinter()),
  });
  // A request that was abandoned would keep the process alive until its time limit.
  if (isInterrupted) process.exit();
}

let isInterrupted = false;

/** The listeners stay: a launcher forwards the signal that the terminal sent already. */
function onInterrupt(stop: () => void): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      isInterrupted = true;
      stop();
    });
  }
}

/** For commands that end: no output is lost, however slow the reader is. */
function waitingPrinter(): Pick<CommandContext, 'print' | 'printed'> {
  return {
    print: (line) => process.stdout.write(`${line}\n`),
    printed: async () => {
      if (process.stdout.writableNeedDrain) await once(process.stdout, 'drain');
    },
  };
}

export async function runCli(args: readonly string[], context: CommandContext): Promise<number> {
  const [name, ...rest] = args;
  try {
    if (name === '--version' || name === '-V') {
      context.print(programVersion());
      return 0;
    }
    if (name === undefined || name === 'help' || name.startsWith('-')) return overview(name, context);
    const command = await findCommand(name).load();
    if (isHelp(rest)) {
      context.print(wrapHelp((command.helpFor?.(rest) ?? command.help).trim()));
      return 0;
    }
    return await command.run(rest, context);
  } catch (error) {
    context.warn(problemText(error, args, context.env));
    return error instanceof PosternError && USAGE_CODES.has(error.code) ? EXIT_USAGE : EXIT_FAILED;
  }
}

function overview(name: string | undefined, context: CommandContext): number {
  const isAsked = name === 'help' || name === '--help' || name === '-h';
  if (name !== undefined && !isAsked) {
    throw mainErrors.create(
      'ERR_POSTERN_COMMAND',
      `unknown flag ${name.split('=')[0]} before the command; see postern --help`,
    );
  }
  const width = Math.max(...COMMANDS.map((command) => command.name.length)) + 2;
  const lines = [
    `Postern ${programVersion()}: self-hosted ingress`,
    '',
    'Usage: postern COMMAND [FLAGS]',
    '',
    ...COMMANDS.map((command) => `  ${command.name.padEnd(width)}${command.summary}`),
    '',
    'Run postern COMMAND --help for the flags of a command, postern --version for the version.',
  ];
  const text = wrapHelp(lines.join('\n'));
  if (isAsked) context.print(text);
  else context.warn(text);
  return isAsked ? 0 : EXIT_USAGE;
}

function findCommand(name: string): CommandRow {
  const found = COMMANDS.find((command) => command.name === name);
  if (found !== undefined) return found;
  const names = COMMANDS.map((command) => command.name);
  const message = `unknown command ${JSON.stringify(name)}.${didYouMean(name, names)} postern --help lists the commands`;
  throw mainErrors.create('ERR_POSTERN_COMMAND', message);
}
