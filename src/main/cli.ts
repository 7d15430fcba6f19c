import { isatty } from 'node:tty';
import type { TunnelCommandName } from '../cli/agent/agent-flags.ts';
import { type Command, type CommandContext, isHelp } from '../cli/command.ts';
import { problemText } from '../cli/problem-text.ts';
import { wrapHelp } from '../cli/wrap-help.ts';
import { PosternError } from '../lib/errors.ts';
import { tuneRuntime } from '../lib/tune-runtime.ts';
import { findCommand, overview } from './commands/overview.ts';
import { exitIfInterrupted, onInterrupt, waitingPrinter } from './commands/own-process.ts';
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
    name: 'alerts',
    summary: 'list what is wrong now',
    load: async () => {
      const [{ createAlertsCommand }, api] = await Promise.all([
        import('../cli/alerts/alerts-command.ts'),
        loadApiCommand(),
      ]);
      return createAlertsCommand(api);
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
    load: () => piped(async () => (await import('../cli/status/status-command.ts')).statusCommand),
  },
  {
    name: 'import',
    summary: 'make a configuration from that of ngrok, frp or Caddy',
    load: () => piped(async () => (await import('../cli/import/import-command.ts')).importCommand),
  },
  {
    name: 'events',
    summary: 'watch events as they happen, or replay deliveries',
    load: () => piped(async () => (await import('../cli/events/events-command.ts')).eventsCommand),
  },
  {
    name: 'export',
    summary: 'write the configuration as a YAML file',
    load: () => piped(async () => (await import('../cli/configuration/export-command.ts')).exportCommand),
  },
  {
    name: 'validate',
    summary: 'check configuration files without a server',
    load: async () => (await import('../cli/configuration/validate-command.ts')).validateCommand,
  },
  {
    name: 'plan',
    summary: 'show how configuration files differ from the server',
    load: () => piped(async () => (await import('../cli/configuration/plan-command.ts')).planCommand),
  },
  {
    name: 'apply',
    summary: "make the server's configuration that of files",
    load: async () => (await import('../cli/configuration/apply-command.ts')).applyCommand,
  },
  {
    name: 'explain',
    summary: 'explain what the edge would do with a request, and why',
    load: async () => (await import('../cli/explain/explain-command.ts')).explainCommand,
  },
  {
    name: 'requests',
    summary: 'list the last requests, show one by its id, or watch them',
    load: async () => {
      const [{ requestsCommand }, { ignoreClosedPipe }] = await Promise.all([
        import('../cli/requests/requests-command.ts'),
        import('../cli/api/ignore-closed-pipe.ts'),
      ]);
      ignoreClosedPipe();
      return requestsCommand;
    },
  },
  {
    name: 'changes',
    summary: 'list changes of the configuration, show one, or verify the history',
    load: () => piped(async () => (await import('../cli/changes/changes-command.ts')).changesCommand),
  },
  {
    name: 'undo',
    summary: 'take a change of the configuration back',
    load: async () => (await import('../cli/changes/undo-command.ts')).undoCommand,
  },
  {
    name: 'confirm',
    summary: 'keep a change that the server reverts otherwise',
    load: async () => (await import('../cli/changes/confirm-command.ts')).confirmCommand,
  },
  {
    name: 'search',
    summary: 'find edges, routes and other configuration by host name, path, description or id',
    load: async () => (await import('../cli/search/search-command.ts')).searchCommand,
  },
  {
    name: 'access',
    summary: 'test access rules, or review who passes them',
    load: () => piped(async () => (await import('../cli/access/access-command.ts')).accessCommand),
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
    name: 'open',
    summary: 'open the console in the browser',
    load: async () => (await import('../cli/open/open-command.ts')).openCommand,
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

/** For a command whose output may go to `head`. */
async function piped(load: () => Promise<Command>): Promise<Command> {
  const [command, { ignoreClosedPipe }] = await Promise.all([load(), import('../cli/api/ignore-closed-pipe.ts')]);
  ignoreClosedPipe();
  return command;
}

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
  exitIfInterrupted();
}

export async function runCli(args: readonly string[], context: CommandContext): Promise<number> {
  const [name, ...rest] = args;
  try {
    if (name === '--version' || name === '-V') {
      context.print(programVersion());
      return 0;
    }
    if (name === undefined || name === 'help' || name.startsWith('-')) return overview(COMMANDS, name, context);
    const command = await findCommand(COMMANDS, name).load();
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
