import { fileNameProblem } from '../../../../kit/files/open-file.ts';
import type { CommandField, CommandForm } from '../../../../modules/agent-modules.ts';
import {
  type FieldValue,
  type ModuleConfig,
  type ModuleConfigs,
  moduleForms,
  requestedConfig,
  ruleOf,
} from '../module-forms.ts';
import type { TunnelConfig, UpstreamTlsConfig } from './agent-config.ts';
import {
  domainProblem,
  hostHeaderProblem,
  labelProblem,
  metadataProblem,
  nameProblem,
  splitLabel,
  tunnelProblems,
} from './tunnel-rules.ts';
import type { YamlFields } from './yaml-fields.ts';

const KEYS: readonly string[] = [
  'addr',
  'files',
  'fallback',
  'not_found_page',
  'listing',
  'proto',
  'schemes',
  'labels',
  'domain',
  'hostname',
  'remote_port',
  'metadata',
  'host_header',
  'inspect',
];

/** Null when it is not a tunnel. Every problem has been recorded by then. */
export function readTunnel(tunnels: YamlFields, name: string): TunnelConfig | null {
  const named = nameProblem(name);
  if (named !== null) tunnels.problem(name, `the name of a tunnel ${named}`);
  const fields = tunnels.map(name, [...KEYS, ...moduleKeys(), 'upstream_tls']);
  if (fields === null) return null;
  const files = readFiles(fields);
  if (!fields.has('addr') && files === null)
    fields.problem(null, `tunnels.${name}.addr is missing: write addr: 8080, host:port or a URL, or files: ./site`);
  const tunnel: TunnelConfig = {
    name,
    addr: fields.address('addr') ?? '',
    files,
    proto: readProto(fields),
    labels: readLabels(fields),
    schemes: readSchemes(fields),
    domain: readDomain(fields),
    remotePort: fields.integer('remote_port', 1, 65_535),
    metadata: fields.text('metadata', metadataProblem),
    hostHeader: fields.text('host_header', hostHeaderProblem),
    inspect: fields.boolean('inspect') ?? true,
    modules: modulesFromYaml(fields),
    upstreamTls: readUpstreamTls(fields),
  };
  for (const { key, message } of tunnelProblems(tunnel)) {
    // Unreadable values have already been recorded.
    const isUnread =
      (key === 'addr' && tunnel.addr === '' && (files === null || files.folder === '')) ||
      (key === 'proto' && hasAny(fields, ['proto', 'labels']));
    if (!isUnread) fields.problem(key, `tunnels.${name}: ${message}`);
  }
  return tunnel;
}

function readFiles(fields: YamlFields): TunnelConfig['files'] {
  const folder = fields.text('files');
  const options = {
    fallback: fields.text('fallback', fileNameProblem),
    notFoundPage: fields.text('not_found_page', fileNameProblem),
    listing: fields.boolean('listing') ?? false,
  };
  if (fields.has('files')) return { folder: folder ?? '', ...options };
  for (const key of ['fallback', 'not_found_page', 'listing'])
    if (fields.has(key)) fields.problem(key, `${key} belongs to a folder: write files: ./site`);
  return null;
}

function readProto(fields: YamlFields): TunnelConfig['proto'] {
  if (fields.is('proto', 'https')) {
    return fields.problem('proto', 'use "proto: http": its public address is https unless schemes says otherwise');
  }
  return fields.oneOf('proto', ['http', 'tcp', 'tls']);
}

function readLabels(fields: YamlFields): TunnelConfig['labels'] {
  const texts = fields.textList('labels', 'app=web', labelProblem);
  if (texts === null) return null;
  const pairs = texts.map(splitLabel);
  if (new Set(pairs.map(([label]) => label)).size < pairs.length) {
    fields.problem('labels', 'labels has two values for one name: remove one');
  }
  return Object.fromEntries(pairs);
}

function readSchemes(fields: YamlFields): TunnelConfig['schemes'] {
  const isScheme = (text: string): text is 'http' | 'https' => text === 'http' || text === 'https';
  const texts = fields.textList('schemes', 'https', (text) => (isScheme(text) ? null : 'must be http or https'));
  return texts?.filter(isScheme) ?? null;
}

function readDomain(fields: YamlFields): string | null {
  if (fields.has('domain') && fields.has('hostname')) {
    return fields.problem('hostname', 'hostname is an alias of domain: remove one of them');
  }
  return fields.text('domain', domainProblem) ?? fields.text('hostname', domainProblem);
}

/** A tunnel has them, and the defaults of containers. */
export function readUpstreamTls(tunnel: YamlFields): UpstreamTlsConfig | null {
  const fields = tunnel.map('upstream_tls', ['root_cas', 'server_name', 'insecure_skip_verify']);
  return (
    fields && {
      rootCas: fields.textList('root_cas', 'service-ca.pem') ?? [],
      serverName: fields.text('server_name', domainProblem),
      insecureSkipVerify: fields.boolean('insecure_skip_verify') ?? false,
    }
  );
}

function hasAny(fields: YamlFields, keys: readonly string[]): boolean {
  return keys.some((key) => fields.has(key));
}

/** Keys of a tunnel that belong to modules. */
export function moduleKeys(): readonly string[] {
  return moduleForms().flatMap(({ key, bare }) => [key, ...(bare === undefined ? [] : [bare.key])]);
}

export function modulesFromYaml(tunnel: YamlFields): ModuleConfigs {
  const modules: Record<string, ModuleConfig> = {};
  for (const form of moduleForms()) {
    const config = moduleFromYaml(form, tunnel);
    if (config !== null) modules[form.module] = config;
  }
  return modules;
}

function moduleFromYaml(form: CommandForm, tunnel: YamlFields): ModuleConfig | null {
  const { key, shape, fields, whenEmpty, bare } = form;
  if (bare !== undefined && tunnel.boolean(bare.key) === true) {
    if (tunnel.has(key)) tunnel.problem(bare.key, `${bare.key} and ${key} exclude each other: remove one of them`);
    return {};
  }
  if (shape === 'switch') return tunnel.boolean(key) === true ? {} : null;
  if (shape === 'list') return requestedConfig(form, readFields(fields, tunnel, key));
  const map = tunnel.map(
    key,
    fields.map((field) => field.key),
  );
  if (map === null) return null;
  for (const field of fields) {
    if (field.isNeeded !== true || map.has(field.key)) continue;
    map.problem(null, `${key}.${field.key} is missing: write ${field.key}: ${field.example}`);
  }
  const values = readFields(fields, map);
  if (whenEmpty !== undefined && !fields.some((field) => map.has(field.key))) return map.problem(null, whenEmpty);
  // Present although nothing in it could be parsed: the problems have been recorded.
  return requestedConfig(form, values) ?? {};
}

/** `key` replaces the field's own key, for a form of one field. */
function readFields(
  fields: readonly CommandField[],
  map: YamlFields,
  key?: string,
): ReadonlyMap<string, FieldValue | null> {
  return new Map(fields.map((field) => [field.name, readField(field, map, key ?? field.key)]));
}

function readField(field: CommandField, map: YamlFields, key: string): FieldValue | null {
  const { kind, minimum = 0, maximum = Number.MAX_SAFE_INTEGER, maxItems = Number.POSITIVE_INFINITY } = field;
  if (kind === 'boolean') return map.boolean(key);
  if (field.unit !== undefined) return map.duration(key, { unit: field.unit, minimum, maximum });
  if (kind === 'integer') return map.integer(key, minimum, maximum);
  if (kind === 'number') return map.number(key, minimum, maximum);
  if (kind === 'text') return map.text(key, ruleOf(field)) ?? (field.isNeeded === true ? '' : null);
  const items = map.textList(key, field.example, ruleOf(field));
  if (items !== null && items.length > maxItems) return map.problem(key, `${key} can have at most ${maxItems} items`);
  return items;
}
