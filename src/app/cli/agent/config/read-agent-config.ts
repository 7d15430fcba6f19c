import { join } from 'node:path';
import { whyUnreadable } from '../../../../kit/error-text.ts';
import { parseListenAddress } from '../../../../kit/net/listen-address.ts';
import { readYaml, type YamlProblem, yamlProblemText } from '../../../../kit/text/yaml/read-yaml.ts';
import type { AgentPorts } from '../agent-ports.ts';
import { engineAddress } from '../docker/engine-address.ts';
import { agentCommandErrors } from '../errors.ts';
import {
  type AgentConfig,
  type DockerConfig,
  type DockerDefaults,
  NO_DOCKER_CONFIG,
  type TunnelConfig,
} from './agent-config.ts';
import { moduleKeys, modulesFromYaml, readTunnel, readUpstreamTls } from './read-tunnel.ts';
import { emailProblem, groupProblem, labelProblem, metadataProblem, tokenProblem } from './tunnel-rules.ts';
import { YamlFields, YamlSource } from './yaml-fields.ts';

const KEYS = [
  'version',
  'authtoken',
  'server_addr',
  'root_cas',
  'metadata',
  'remote_management',
  'inspect_addr',
  'tunnels',
  'docker',
] as const;
const VERSION = 2;

type ConfigReading =
  | { readonly ok: true; readonly config: AgentConfig }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Throws ERR_POSTERN_AGENT_CONFIG with the first problem. */
export function readAgentConfig(text: string, fileName: string): AgentConfig {
  const reading = examineAgentConfig(text, fileName);
  if (reading.ok) return reading.config;
  const [first, ...others] = reading.problems;
  const more = others.length === 0 ? '' : ` (and ${others.length} more: postern config check lists them)`;
  throw agentCommandErrors.create('ERR_POSTERN_AGENT_CONFIG', `${first}${more}`);
}

/** Problems never quote a value that may be a secret. */
export function examineAgentConfig(text: string, fileName: string): ConfigReading {
  const { root, problems } = readYaml(text, { hasAliases: true });
  if (problems.length > 0) {
    return { ok: false, problems: problems.map((each) => `${fileName}:${each.line}: ${yamlWords(each)}`) };
  }
  const source = new YamlSource(fileName);
  if (root?.type !== 'map') {
    source.problem(1, `${root === null ? 'is empty' : 'must be a map'}: start the file with "version: ${VERSION}"`);
    return { ok: false, problems: source.problems };
  }
  const config = readTop(new YamlFields(source, root, '', KEYS));
  return source.problems.length === 0 ? { ok: true, config } : { ok: false, problems: source.problems };
}

function readTop(fields: YamlFields): AgentConfig {
  const version = fields.address('version');
  if (!fields.has('version')) {
    fields.problem(null, `version is missing: start the file with "version: ${VERSION}"`);
  } else if (version !== null && version !== String(VERSION)) {
    fields.problem('version', `version must be ${VERSION}: write version: ${VERSION}`);
  }
  return {
    authtoken: fields.text('authtoken', tokenProblem),
    serverAddr: fields.text('server_addr', hostPortProblem),
    rootCas: fields.textList('root_cas', 'ca.pem') ?? [],
    metadata: fields.text('metadata', metadataProblem),
    remoteManagement: fields.boolean('remote_management'),
    inspectAddr: inspectAddr(fields),
    tunnels: readTunnels(fields),
    docker: readDocker(fields),
  };
}

function inspectAddr(fields: YamlFields): string | false | null {
  if (!fields.has('inspect_addr')) return null;
  return fields.is('inspect_addr', false) ? false : fields.text('inspect_addr', hostPortProblem);
}

export function hostPortProblem(text: string): string | null {
  return parseListenAddress(text) === null ? 'must be host:port, such as 127.0.0.1:7444' : null;
}

function readTunnels(fields: YamlFields): readonly TunnelConfig[] {
  const tunnels = fields.map('tunnels', null);
  if (tunnels === null) return [];
  return tunnels.keys().flatMap((name) => readTunnel(tunnels, name) ?? []);
}

function yamlWords(each: YamlProblem): string {
  if (each.code === 'DUPLICATE_KEY') return 'duplicate key: remove one';
  if (each.code === 'TAB_AS_INDENT') return 'the line is indented with a tab: YAML requires spaces';
  return yamlProblemText(each);
}

/** The name says whose file it is where files of other programs may lie. A folder of Postern's own needs no prefix. */
const FILE_HERE = 'postern-agent.yaml';
export const FILE_IN_FOLDER = 'agent.yaml';
const MAX_BYTES = 1_048_576;

export interface ConfigFile {
  readonly path: string;
  readonly text: string;
  /**
   * The user named it, or it is in the user's own folder. One that the current directory happens to have may be
   * anybody's.
   */
  readonly isOwn: boolean;
}

/** What the agent's commands take from a configuration file. */
export interface LoadedFile {
  readonly path: string;
  readonly isOwn: boolean;
  readonly config: AgentConfig;
}

/** The named file, or the first of the usual ones that exists; null when there is none. */
export async function findConfigFile(
  named: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
  files: AgentPorts['files'],
): Promise<ConfigFile | null> {
  if (named !== undefined) return { path: named, text: await readWhole(named, files), isOwn: true };
  for (const path of configPlaces(env, files.home)) {
    if (!(await files.exists(path))) continue;
    return { path, text: await readWhole(path, files), isOwn: path !== FILE_HERE };
  }
  return null;
}

export async function loadConfigFile(
  named: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
  files: AgentPorts['files'],
): Promise<LoadedFile | null> {
  const file = await findConfigFile(named, env, files);
  if (file === null) return null;
  const { path, text, isOwn } = file;
  return { path, isOwn, config: readAgentConfig(text, path) };
}

export function configPlaces(env: Readonly<Record<string, string | undefined>>, home: string): readonly string[] {
  const userFolders = [env['XDG_CONFIG_HOME'] || null, join(home, '.config')];
  const inFolders = userFolders.flatMap((folder) => (folder === null ? [] : [join(folder, 'postern', FILE_IN_FOLDER)]));
  return [...new Set([FILE_HERE, ...inFolders])];
}

async function readWhole(path: string, files: AgentPorts['files']): Promise<string> {
  try {
    const text = await files.read(path);
    if (text.length <= MAX_BYTES) return text;
  } catch (cause) {
    const message = `cannot read the configuration file ${path}: ${whyUnreadable(cause)}`;
    throw agentCommandErrors.create('ERR_POSTERN_AGENT_CONFIG', message, { cause });
  }
  throw agentCommandErrors.create('ERR_POSTERN_AGENT_CONFIG', `the configuration file ${path} is too large`);
}

/** Lists of people are written directly: labels of containers narrow them. */
const MODULE_KEYS = moduleKeys().filter((key) => key !== 'access');
const DEFAULTS_KEYS = ['allow_groups', 'allow_emails', 'allow_public', 'upstream_tls', ...MODULE_KEYS];

/** Null without the section. Every problem has been recorded by then. */
function readDocker(fields: YamlFields): DockerConfig | null {
  const docker = fields.map('docker', ['socket', 'defaults', 'shared_labels']);
  if (docker === null) return null;
  const defaults = docker.map('defaults', DEFAULTS_KEYS);
  return {
    socket: docker.text('socket', socketProblem),
    defaults: defaults === null ? NO_DOCKER_CONFIG.defaults : readDefaults(defaults),
    sharedLabels: docker.textList('shared_labels', 'env=prod', labelProblem) ?? [],
  };
}

function readDefaults(fields: YamlFields): DockerDefaults {
  const defaults = {
    modules: modulesFromYaml(fields),
    allowGroups: fields.textList('allow_groups', 'ops', groupProblem) ?? [],
    allowEmails: fields.textList('allow_emails', 'ana@example.com', emailProblem) ?? [],
    allowPublic: fields.boolean('allow_public') ?? false,
    upstreamTls: readUpstreamTls(fields),
  };
  if (fields.is('login', false) && defaults.allowGroups.length + defaults.allowEmails.length > 0) {
    fields.problem('login', 'docker.defaults.login must be true with allow_groups or allow_emails');
  }
  return defaults;
}

function socketProblem(text: string): string | null {
  const address = engineAddress(text);
  return 'problem' in address ? address.problem : null;
}
