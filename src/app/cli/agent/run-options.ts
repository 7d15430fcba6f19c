import { dirname, join, resolve } from 'node:path';
import { getCACertificates } from 'node:tls';
import { usage } from '../../../kit/flags.ts';
import { isLoopbackHost, type ListenAddress, parseListenAddress } from '../../../kit/net/listen-address.ts';
import type { AgentOptions, TunnelSpec } from '../../../tunnel/agent/handle.ts';
import type { TextSource } from '../api/text-source.ts';
import { askOrRefuse } from '../ask-or-refuse.ts';
import type { CommandContext } from '../command.ts';
import type { AgentPorts } from './agent-ports.ts';
import { LOG_FORMATS, LOG_LEVELS } from './agent-syntax.ts';
import { hostPortProblem, type LoadedFile } from './config/read-agent-config.ts';
import { metadataProblem, tokenProblem } from './config/tunnel-rules.ts';
import type { DockerSource } from './docker/docker-tunnels.ts';
import type { FlagValues } from './flag-values.ts';
import { secretFlags } from './module-forms.ts';
import { besideFile, certificateBlocks, readCertificates } from './tunnel-specs.ts';

const DEFAULT_INSPECTOR: ListenAddress = { host: '127.0.0.1', port: 7040 };

export type LogFormat = (typeof LOG_FORMATS)[number];
export type LogLevel = (typeof LOG_LEVELS)[number];

interface InspectorPlace {
  readonly listen: ListenAddress;
  readonly isChosen: boolean;
}

/** All options of one run of the agent. */
export interface RunOptions {
  readonly agent: AgentOptions;
  /** Null: disabled, or there would be nothing to see. */
  readonly inspector: InspectorPlace | null;
  /** Null: disabled. */
  readonly chosenInspector: InspectorPlace | null;
  /** Containers that are published. */
  readonly docker: DockerSource | null;
  readonly logLevel: LogLevel;
  /** Null: the live view on a terminal, otherwise text. */
  readonly logFormat: LogFormat | null;
}

export async function runOptions(tunnels: readonly TunnelSpec[], around: Surroundings): Promise<RunOptions> {
  const { flags, context, file } = around;
  const logFormat = flags.oneOf('log-format', LOG_FORMATS);
  const fromEnv = LOG_LEVELS.find((level) => level === context.env['POSTERN_LOG_LEVEL']);
  const logLevel = flags.oneOf('log-level', LOG_LEVELS) ?? fromEnv ?? 'info';
  const inspector = inspectorOf(around);
  const isInspected = ({ proto, inspect }: TunnelSpec): boolean =>
    inspect !== false && proto !== 'tcp' && proto !== 'tls';
  const metadata = flags.text('metadata', metadataProblem) ?? file?.config.metadata ?? null;
  const remoteManagement = flags.switch('remote-management') ?? file?.config.remoteManagement ?? null;
  return {
    agent: {
      ...(await serverAccess(around)),
      ...(metadata !== null && { metadata }),
      ...(remoteManagement !== null && { remoteManagement }),
      tunnels,
    },
    inspector: tunnels.some(isInspected) ? inspector : null,
    chosenInspector: inspector,
    docker: null,
    logLevel,
    logFormat,
  };
}

/** Tunnels come and go with containers. */
export function withDocker(options: RunOptions, docker: DockerSource): RunOptions {
  return {
    ...options,
    docker,
    agent: { ...options.agent, isOpenEnded: true },
    inspector: options.chosenInspector,
  };
}

function inspectorOf({ flags, file }: Surroundings): RunOptions['inspector'] {
  const flag = flags.text('inspect-addr', hostPortProblem);
  const isOn = flags.switch('inspect');
  if (isOn === false && flag !== null) throw usage('--inspect-addr cannot be used with --no-inspect');
  const inFile = file?.config.inspectAddr ?? null;
  if (isOn === false || (isOn === null && flag === null && inFile === false)) return null;
  const chosen = flag ?? (inFile === false ? null : inFile);
  const listen = chosen === null ? null : parseListenAddress(chosen);
  return { listen: listen ?? DEFAULT_INSPECTOR, isChosen: listen !== null };
}

const DEFAULT_SERVER = '127.0.0.1:7444';
const DEFAULT_DATA_DIR = 'postern-data';

interface Surroundings {
  readonly flags: FlagValues;
  readonly context: CommandContext;
  readonly ports: AgentPorts;
  readonly source: TextSource;
  readonly file: LoadedFile | null;
}

interface ServerAccess {
  readonly serverAddr: string;
  readonly authtoken: string;
  readonly ca?: readonly string[];
}

/** Server address and credentials. Flags override variables, which override the file. */
async function serverAccess(around: Surroundings): Promise<ServerAccess> {
  const serverAddr = serverAddrOf(around);
  const isLocal = isLoopbackHost(parseListenAddress(serverAddr)?.host ?? '');
  const token = await tokenOf(around, isLocal);
  await checkDestination(around, serverAddr, token);
  const ca = await trusted(around, isLocal, token);
  return { serverAddr, authtoken: token.text, ...(ca !== null && { ca }) };
}

export function serverAddrOf({ flags, context, file }: Omit<Surroundings, 'ports' | 'source'>): string {
  const variable = context.env['POSTERN_SERVER_ADDR'] || null;
  const flag = flags.text('server-addr', hostPortProblem);
  if (flag !== null) return flag;
  const problem = variable === null ? null : hostPortProblem(variable);
  if (problem !== null) throw usage(`POSTERN_SERVER_ADDR ${problem}`);
  return variable ?? file?.config.serverAddr ?? DEFAULT_SERVER;
}

interface Token {
  readonly text: string;
  /** Null: the configuration file. */
  readonly from: string | null;
}

async function tokenOf(around: Surroundings, isLocal: boolean): Promise<Token> {
  const { flags, context, ports, source, file } = around;
  if (flags.has('authtoken') && flags.has('authtoken-file'))
    throw usage('use --authtoken or --authtoken-file, not both');
  const flag = await flags.secret('authtoken', source);
  if (flag !== null) return checkedToken(flag, '--authtoken');
  const path = flags.text('authtoken-file');
  if (path !== null) return checkedToken(await source.read(path, 'authtoken-file'), `the file ${path}`);
  const variable = context.env['POSTERN_AUTHTOKEN'] || null;
  if (variable !== null) return checkedToken(variable, 'POSTERN_AUTHTOKEN');
  if (file !== null && file.config.authtoken !== null) return { text: file.config.authtoken, from: null };
  // The server's first token is sent only to a server on this machine: nobody else needs to see it.
  const firstPath = firstToken(context);
  const first = isLocal ? await ports.files.read(firstPath).catch(() => null) : null;
  if (first !== null) return checkedToken(first, `the file ${firstPath}`);
  const local = isLocal
    ? ` (${firstPath} cannot be read: run this command in the folder of the server, or set POSTERN_DATA_DIR)`
    : '';
  throw usage(
    `no agent token: set POSTERN_AUTHTOKEN, --authtoken-file FILE, or authtoken in the configuration file${local}; "postern agents invite" on the server's machine prints a line that sets it`,
  );
}

/**
 * A file that the current directory happens to have (a repository that was cloned) must not decide where secrets from
 * elsewhere go, nor which CA vouches for the server that gets them.
 */
async function checkDestination({ flags, context, file }: Surroundings, addr: string, token: Token): Promise<void> {
  if (file === null || file.isOwn) return;
  const { serverAddr, rootCas } = file.config;
  const isPersons = flags.has('server-addr') || Boolean(context.env['POSTERN_SERVER_ADDR']);
  const namesAddress = !isPersons && serverAddr !== null && serverAddr !== DEFAULT_SERVER;
  const namesCa = !flags.has('root-ca') && rootCas.length > 0;
  const given = [...(token.from === null ? [] : [token.from]), ...givenSecretFlags(flags)];
  if ((!namesAddress && !namesCa) || given.length === 0) return;
  const what = given.join(', ');
  const how = namesAddress ? `names the server ${addr}` : 'names the CA of the server (root_cas)';
  await askOrRefuse(context, {
    question: `${file.path} in this directory ${how}. Send it the secret of ${what}? [y/N] `,
    refusal: `${file.path} in this directory ${how}, but the secret of ${what} does not come from this file: if the file is yours, name it with --config ${file.path}. Otherwise, set --server-addr and --root-ca`,
  });
}

/** The same for ./postern-data, which no variable names: its CA vouches for the server only to the token beside it. */
async function checkFoundCa({ flags, context, file }: Surroundings, token: Token): Promise<void> {
  const folder = dataDir(context);
  const isBeside = (path: string): boolean => resolve(dirname(path)) === resolve();
  if (isNamed(context) || token.from === `the file ${firstToken(context)}`) return;
  const tokenFrom = token.from ?? (file === null || isBeside(file.path) ? null : file.path);
  const given = [...(tokenFrom === null ? [] : [tokenFrom]), ...givenSecretFlags(flags)];
  if (given.length === 0) return;
  const what = given.join(', ');
  await askOrRefuse(context, {
    question: `${folder} in this directory has the CA of the server. Send a server with its certificate the secret of ${what}? [y/N] `,
    refusal: `${folder} in this directory has the CA of the server, but the secret of ${what} does not come from there: if the folder is yours, set POSTERN_DATA_DIR=${folder}. Otherwise, name the CA with --root-ca`,
  });
}

function givenSecretFlags(flags: FlagValues): readonly string[] {
  return secretFlags()
    .filter((name) => flags.has(name))
    .map((name) => `--${name}`);
}

function checkedToken(text: string, source: string): Token {
  const token = text.trim();
  const problem = tokenProblem(token);
  if (problem !== null) throw usage(`${source} does not contain an authtoken: it ${problem}`);
  return { text: token, from: source };
}

/** Null means the system's certificates. */
async function trusted(around: Surroundings, isLocal: boolean, token: Token): Promise<readonly string[] | null> {
  const { flags, context, ports, file } = around;
  const given = flags.repeated('root-ca');
  if (given.length > 0) return readCertificates(given, '--root-ca', ports.files);
  if (file !== null && file.config.rootCas.length > 0) {
    const paths = file.config.rootCas.map((path) => besideFile(file.path, path));
    return readCertificates(paths, `${file.path}: root_cas`, ports.files);
  }
  const own = isLocal ? await ownCas(dataDir(context), ports.files) : [];
  if (own.length === 0) return null;
  await checkFoundCa(around, token);
  // A server on this machine may also have a certificate of a public CA.
  return [...getCACertificates('default'), ...own];
}

/** Certificates of the server that owns this data directory. */
async function ownCas(directory: string, files: AgentPorts['files']): Promise<readonly string[]> {
  const folder = join(directory, 'internal-ca');
  const names = await files.list(folder);
  const texts = await Promise.all(
    names.map((name) => files.read(join(folder, name, 'certificate.pem')).catch(() => '')),
  );
  return texts.flatMap((text) => certificateBlocks(text) ?? []);
}

function firstToken(context: CommandContext): string {
  return join(dataDir(context), 'first-authtoken');
}

function dataDir({ env }: CommandContext): string {
  return env['POSTERN_DATA_DIR'] || DEFAULT_DATA_DIR;
}

function isNamed({ env }: CommandContext): boolean {
  return Boolean(env['POSTERN_DATA_DIR']);
}
