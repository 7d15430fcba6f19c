import { basename, join, relative, resolve } from 'node:path';
import { isSea } from 'node:sea';
import { isDeepStrictEqual } from 'node:util';
import { isOn } from '../../../kit/flags.ts';
import type { ServerLog } from '../../../kit/logging/logger.ts';
import { formatListenAddress, isWildcardHost } from '../../../kit/net/listen-address.ts';
import { type ServiceManager, serviceManager } from '../../../kit/process/service-manager.ts';
import {
  type Command,
  type CommandContext,
  type CommandSyntax,
  INVALID_USAGE,
  parseCommand,
  SETTINGS_EXIT_CODE,
} from '../../cli/command.ts';
import { type LoginLink, ownLoginLink } from '../../cli/open/login-link.ts';
import { problemText } from '../../cli/problem-text.ts';
import { switchFlag } from '../../cli/shared-flags.ts';
import { type ConfigInput, foreignApiUrl, type LoadedConfig, loadConfig } from '../../settings/load.ts';
import { printConfig, shownSettings } from '../../settings/print.ts';
import { groupedSettingFlags } from '../../settings/setting-flags.ts';
import { Predecessor } from '../handover/predecessor.ts';
import { Restarts } from '../handover/restarts.ts';
import type { RunningServer } from '../running-server.ts';
import { startServer } from '../server.ts';
import { ListeningSockets, systemdSockets } from '../sockets/listening-sockets.ts';
import { programVersion } from '../version.ts';

export interface ProcessFailure {
  /** Resolves at the first exception that no connection owns, once the server runs. */
  readonly happened: Promise<void>;
  readonly hasHappened: boolean;
}

export interface ProcessFailureOptions {
  /** Null until the server runs: then there is nothing to drain, and the process just exits. */
  readonly runningLog: () => ServerLog | null;
  readonly onFailedStart: (error: unknown) => void;
  /** Longer than any drain takes. */
  readonly exitWithinMs: number;
}

/** An interval that throws would fill the log while the server drains. */
const MAX_LOGGED = 20;

/**
 * An exception or rejection that reaches the process has no owner: it comes from a timer, the store, the replica or the
 * compilation of snapshots, so the state in memory is in doubt. The process accepts no new work, lets requests in
 * progress finish, and exits with 1 so that its supervisor restarts it. Exceptions in connection listeners never come
 * here: see `src/kit/guarded-listeners.ts`.
 */
export function watchProcessFailure(options: ProcessFailureOptions): ProcessFailure {
  const { promise, resolve } = Promise.withResolvers<void>();
  let count = 0;
  // The runtime also raises unhandled rejections here.
  process.on('uncaughtException', (err, origin) => {
    const log = options.runningLog();
    if (log === null) {
      options.onFailedStart(err);
      process.exit(1);
    }
    count += 1;
    if (count <= MAX_LOGGED)
      log.logger.fatal({ err, origin }, 'uncaught exception: draining, then exiting with code 1');
    log.flush();
    if (count > 1) return;
    // Not left to the drain, which may be what is broken.
    setTimeout(() => process.exit(1), options.exitWithinMs);
    resolve();
  });
  return {
    happened: promise,
    get hasHappened() {
      return count > 0;
    },
  };
}

const NS_PER_US = 1000n;

export interface ReloadOptions extends Pick<ConfigInput, 'flags' | 'env'> {
  /** Null until the server runs. */
  readonly server: RunningServer | null;
  readonly manager: ServiceManager;
  /** The settings that the server runs with. */
  readonly loaded: LoadedConfig;
}

/**
 * SIGHUP: applies the sites again, uses certificate files that changed, and compares the configuration file with the
 * settings in use. Settings apply at a restart only, so those that changed are named. A file with a mistake changes
 * nothing.
 */
export async function reload({ server, manager, flags, env, loaded }: ReloadOptions): Promise<void> {
  // A server that is still starting reads everything anyway.
  if (server === null) return;
  const { logger } = server.log;
  void manager.notify('RELOADING=1', `MONOTONIC_USEC=${process.hrtime.bigint() / NS_PER_US}`);
  try {
    const { values } = loadConfig({ flags, env });
    await server.refreshCertificates();
    const changed = Object.keys(values).filter((name) => !isDeepStrictEqual(values[name], loaded.values[name]));
    if (changed.length === 0) logger.info('reloaded the certificate files; no setting changed');
    else
      logger.warn(
        { settings: changed },
        'reloaded the certificate files; restart the server to apply changed settings',
      );
  } catch (err) {
    logger.error({ err }, 'failed to reload: the server continues as it was');
  }
  await server.applySites();
  void manager.notify('READY=1');
}

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

export interface StopSignalOptions {
  /** Null until the server runs: then there is nothing to drain, and the process just exits. */
  readonly runningLog: () => ServerLog | null;
  /** What SIGHUP does instead of stopping the server. */
  readonly onReload: (() => void) | null;
}

/** Ctrl-C arrives twice when a launcher runs us: from the terminal, and forwarded by the launcher. */
const SAME_SIGNAL_MS = 250;

/**
 * Resolves at the first signal. A later one ends the process immediately. Call it before the server starts, because a
 * signal may arrive as soon as the ready line is printed.
 */
export function stopSignal({ runningLog, onReload }: StopSignalOptions): Promise<void> {
  return new Promise((resolve) => {
    let firstMs: number | null = null;
    const onSignal = (signal: NodeJS.Signals) => {
      const log = runningLog();
      if (signal === 'SIGHUP' && onReload !== null) {
        onReload();
        return;
      }
      if (log === null) process.exit();
      if (firstMs === null) {
        firstMs = performance.now();
        log.logger.info({ signal }, 'stopping');
        resolve();
        return;
      }
      if (performance.now() - firstMs < SAME_SIGNAL_MS) return;
      log.logger.warn({ signal }, 'stopping immediately: requests in flight are cut off');
      log.flush();
      process.exit(1);
    };
    for (const signal of SIGNALS) process.on(signal, onSignal);
  });
}

/** Where commands look for a server by default. */
const DEFAULTS = { baseUrl: 'http://127.0.0.1:7080', serverAddr: '127.0.0.1:7444', dataDir: 'postern-data' };

interface Welcomed extends Pick<RunningServer, 'addresses' | 'baseUrl' | 'bootstrapped'> {
  /** Logs a browser in to the console, once. */
  readonly loginLink: LoginLink | null;
}

/** For the person who typed `npm start`: the addresses, the links to follow, what to type next. */
export function welcomeText(server: Welcomed, dataDir: string): string {
  const { baseUrl, bootstrapped, addresses } = server;
  const { apiKey, authtoken, administratorLink } = bootstrapped;
  const rows = [`  API         ${baseUrl}`, `  Docs        ${baseUrl}/docs`, `  Console     ${baseUrl}/console`];
  if (apiKey !== null) rows.push(`  API key     in ${join(dataDir, 'first-api-key')}`);
  if (authtoken !== null) rows.push(`  Agent token in ${join(dataDir, 'first-authtoken')}`);
  if (apiKey !== null || authtoken !== null)
    rows.push('', '  Commands in this folder find the key and the token. Delete the files when you have other keys.');
  if (server.loginLink !== null)
    rows.push('', '  This link logs you in to the console, once, within ten minutes:', `  ${server.loginLink.url}`);
  if (server.loginLink !== null && server.loginLink.code !== null)
    rows.push(`  Its page asks for this code: ${server.loginLink.code}`);
  if (administratorLink !== null)
    rows.push('', '  Become the first administrator with this link, once, within 24 hours:', `  ${administratorLink}`);
  const variables = [
    ...(baseUrl === DEFAULTS.baseUrl ? [] : [`POSTERN_CLI_API_URL=${baseUrl}`]),
    ...(isDefaultFolder(dataDir) ? [] : [`POSTERN_DATA_DIR=${resolve(dataDir)}`]),
  ];
  return [
    '',
    `  Postern ${programVersion()} is ready.`,
    '',
    ...rows,
    '',
    addresses.edge === undefined
      ? '  Next, in another terminal:'
      : '  Next, in another terminal, serve a host from port 3000 of this machine:',
    '',
    ...exported(variables),
    addresses.edge === undefined
      ? `  ${ownCommand()} api --help`
      : `  ${ownCommand()} edge app.localhost:${addresses.edge.port} --to 3000`,
    ...consoleLink(server),
    ...firstTunnel(server, dataDir),
    '',
  ].join('\n');
}

/** Without the first API key at hand, and unless the link for the first administrator stands above. */
function consoleLink({ loginLink, bootstrapped }: Welcomed): readonly string[] {
  if (loginLink !== null || bootstrapped.administratorLink !== null) return [];
  return ['', '  Or log in to the console:', '', `  ${ownCommand()} open`];
}

function firstTunnel({ addresses: { tunnel } }: Welcomed, dataDir: string): readonly string[] {
  if (tunnel === undefined) return [];
  const serverAddr = formatListenAddress({ ...tunnel, host: isWildcardHost(tunnel.host) ? '127.0.0.1' : tunnel.host });
  const variables = [
    ...(serverAddr === DEFAULTS.serverAddr ? [] : [`POSTERN_SERVER_ADDR=${serverAddr}`]),
    ...(isDefaultFolder(dataDir) ? [] : [`POSTERN_DATA_DIR=${resolve(dataDir)}`]),
  ];
  return [
    '',
    '  Or expose the service on port 3000 through a tunnel:',
    '',
    ...exported(variables),
    `  ${ownCommand()} http 3000`,
  ];
}

function exported(variables: readonly string[]): readonly string[] {
  return variables.length === 0 ? [] : [`  export ${variables.join(' ')}`];
}

function isDefaultFolder(dataDir: string): boolean {
  return resolve(dataDir) === resolve(DEFAULTS.dataDir);
}

/** How to run this program again from this directory. */
function ownCommand(): string {
  if (isSea()) return process.argv0;
  const [, program = ''] = process.argv;
  return basename(program) === 'postern.mjs' ? `node ${relative(process.cwd(), program)}` : 'postern';
}

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
  // The variable names this process. The manager watches a successor as well.
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
  const configFile = loaded.file === null ? null : resolve(loaded.file);
  server = await startServer(loaded.config, {
    isTerminal: context.isTerminal,
    predecessor,
    sockets,
    settings,
    configFile,
  });
  void manager.notify('READY=1', `STATUS=Serving the API at ${server.baseUrl}`);
  const stopWatchdog = manager.startWatchdog();
  const isApiTls = loaded.config.api_tls_cert !== null;
  const restarts = await Restarts.open(server, { args, env, dataDir: loaded.config.data_dir, isApiTls });
  if (context.isTerminal && predecessor === null) {
    const { addresses, baseUrl, bootstrapped } = server;
    const { api_key: preset, data_dir: dataDir } = loaded.config;
    const loginLink = await ownLoginLink(baseUrl, bootstrapped.apiKey ?? preset, dataDir);
    context.print(welcomeText({ addresses, baseUrl, bootstrapped, loginLink }, dataDir));
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
