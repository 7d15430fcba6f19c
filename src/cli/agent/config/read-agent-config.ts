import { parseListenAddress } from '../../../lib/net/listen-address.ts';
import { readYaml, type YamlProblem, yamlProblemText } from '../../../lib/text/yaml/read-yaml.ts';
import { readDocker } from '../docker/read-docker.ts';
import { agentCommandErrors } from '../errors.ts';
import type { AgentConfig, TunnelConfig } from './agent-config.ts';
import { readTunnel } from './read-tunnel.ts';
import { metadataProblem, tokenProblem } from './text-problems.ts';
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

export type ConfigReading =
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
