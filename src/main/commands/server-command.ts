import {
  type Command,
  type CommandContext,
  type CommandSyntax,
  INVALID_USAGE,
  parseCommand,
  SETTINGS_EXIT_CODE,
} from '../../cli/command.ts';
import { ownSignInLink } from '../../cli/open/sign-in-link.ts';
import { problemText } from '../../cli/problem-text.ts';
import { switchFlag } from '../../cli/shared-flags.ts';
import { foreignApiUrl, loadConfig } from '../../config/load.ts';
import { printConfig, shownSettings } from '../../config/print.ts';
import { groupedSettingFlags } from '../../config/setting-flags.ts';
import { isOn } from '../../lib/flags.ts';
import { serviceManager } from '../../lib/process/service-manager.ts';
import { Predecessor } from '../handover/predecessor.ts';
import { Restarts } from '../handover/restarts.ts';
import type { RunningServer } from '../running-server.ts';
import { startServer } from '../server.ts';
import { ListeningSockets } from '../sockets/listening-sockets.ts';
import { systemdSockets } from '../sockets/systemd-sockets.ts';
import { watchProcessFailure } from './process-failure.ts';
import { reload } from './reload.ts';
import { stopSignal } from './stop-signal.ts';
import { welcomeText } from './welcome-text.ts';

/** For closing the rest after requests and agents have had their time. */
const DRAIN_MARGIN_MS = 10_000;
const SYNTAX: CommandSyntax = {
  name: 'server',
  about:
    'Starts the server. Each setting is a flag, an environment variable and a line of the YAML file: --data-dir is POSTERN_DATA_DIR and data_dir. Flags override variables, variables override the file, and the file overrides the defaults. In flags and variables, separate the items of a list with commas.',
  flags: [switchFlag('print-config', 'Print the effective settings and their sources, with secrets masked, and exit.')],
  groups: groupedSettingFlags(),
  examples: [
    'postern server --data-dir postern-data',
    'postern server --config /etc/postern/server.yaml --print-config',
  ],
  exitCodes: { 0: 'stopped', 1: 'failed', 2: INVALID_USAGE, ...SETTINGS_EXIT_CODE },
};

export const serverCommand: Command = { syntax: SYNTAX, run };

async function run(args: readonly string[], context: CommandContext): Promise<number> {
  const predecessor = await Predecessor.find(process.env);
  // Before parts of it are used up, such as the variables of systemd.
  const env = { ...process.env };
  // It names this process. The manager watches a successor as well.
  Reflect.deleteProperty(env, 'WATCHDOG_PID');
  try {
    return await serve({ args, context, env, predecessor });
  } catch (error) {
    await predecessor?.failed(error);
    throw error;
  }
}

interface Start {
  readonly args: readonly string[];
  readonly context: CommandContext;
  readonly env: NodeJS.ProcessEnv;
  readonly predecessor: Predecessor | null;
}

async function serve({ args, context, env, predecessor }: Start): Promise<number> {
  const parsed = parseCommand(SYNTAX, args);
  const { flags } = parsed;
  const loaded = loadConfig({ flags, env: context.env });
  for (const warning of [...loaded.warnings, ...foreignApiUrl(loaded)]) context.warn(`postern: warning: ${warning}`);
  if (isOn(parsed, 'print-config')) {
    context.print(printConfig(loaded).trimEnd());
    return 0;
  }

  let server: RunningServer | null = null;
  // Installed first: a failure on a timer or in a thread must not leave half a server behind at any time.
  const failure = watchProcessFailure({
    runningLog: () => server?.log ?? null,
    onFailedStart: (error) => context.warn(problemText(error, args, context.env)),
    exitWithinMs: 2 * loaded.config.shutdown_timeout * 1000 + DRAIN_MARGIN_MS,
  });
  const manager = serviceManager(process.env);
  const stopping = stopSignal({
    runningLog: () => server?.log ?? null,
    // A service manager asks for a reload, and so does who changed the sites; otherwise the terminal was closed.
    onReload:
      manager.isPresent || loaded.config.sites !== null
        ? () => void reload({ server, manager, flags, env: context.env, loaded })
        : null,
  });
  const sockets = predecessor?.sockets ?? new ListeningSockets(systemdSockets(process.env));
  const settings = shownSettings(loaded).map((setting) => ({ ...setting }));
  server = await startServer(loaded.config, { isTerminal: context.isTerminal, predecessor, sockets, settings });
  void manager.notify('READY=1', `STATUS=Serving the API at ${server.baseUrl}`);
  const stopWatchdog = manager.startWatchdog();
  const isApiTls = loaded.config.api_tls_cert !== null;
  const restarts = await Restarts.open(server, { args, env, dataDir: loaded.config.data_dir, isApiTls });
  if (context.isTerminal && predecessor === null) {
    const { addresses, baseUrl, bootstrapped } = server;
    const { api_key: preset, data_dir: dataDir } = loaded.config;
    const signInLink = await ownSignInLink(baseUrl, bootstrapped.apiKey ?? preset, dataDir);
    context.print(welcomeText({ addresses, baseUrl, bootstrapped, signInLink }, dataDir));
  }
  const successor = await Promise.race([stopping, failure.happened, restarts.handedOver]);
  stopWatchdog();
  // The manager follows the successor: the end of this process is not the end of the service.
  const told = successor
    ? manager.notify(`MAINPID=${successor.pid}`, 'READY=1')
    : manager.notify('STOPPING=1', 'STATUS=Draining');
  try {
    await restarts.close();
    await server.close({
      isHandedOver: successor !== undefined,
      onDeliveryEnded: () => successor?.deliveryEnded(),
    });
    await told;
  } catch (err) {
    server.log.logger.fatal({ err }, 'the server failed to shut down cleanly');
    server.log.flush();
    process.exit(1);
  }
  // Explicit: a drained server is done, even if handles are still open.
  process.exit(failure.hasHappened ? 1 : process.exitCode);
}
