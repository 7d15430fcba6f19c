import type { Flag } from '../../kit/flags.ts';
import { isJsonObject } from '../../kit/json.ts';
import { loadConfig } from './load.ts';
import { flagOf, settingNames, settingOf } from './schema.ts';

/** A longer default, such as the list of dropped headers, would hide the description. */
const MAX_DEFAULT_LENGTH = 60;
let standards: Readonly<Record<string, unknown>> | undefined;

const CONFIG: Flag = {
  name: 'config',
  kind: 'text',
  hint: 'FILE',
  isFile: true,
  description: 'YAML file with settings.',
  default: 'POSTERN_CONFIG',
};

/** The flags that `loadConfig` understands. */
export const settingFlags: readonly Flag[] = [CONFIG, ...settingNames.map(flagOfSetting)];

interface SettingGroup {
  readonly title: string;
  readonly flags: readonly Flag[];
  readonly isBrief?: boolean;
}

/**
 * The same for `postern server --help`: the ones that matter first, then the others in the groups of the reference
 * page.
 */
export function groupedSettingFlags(): readonly SettingGroup[] {
  const rest = settingNames.filter((name) => !FIRST_SETTINGS.includes(name));
  return [
    { title: 'Settings that matter first', flags: flagsOf([CONFIG.name, ...FIRST_SETTINGS]) },
    ...settingsInGroups(rest).map(([title, names]) => ({ title, flags: flagsOf(names), isBrief: true })),
  ];
}

function flagsOf(settings: readonly string[]): readonly Flag[] {
  return settings.flatMap((setting) => settingFlags.find(({ name }) => name === flagOf(setting)) ?? []);
}

function flagOfSetting(name: string): Flag {
  const { description, usedFrom, kind } = settingOf(name);
  const { type } = kind.schema as { type?: string };
  const flag = flagOf(name);
  return {
    name: flag,
    kind: type === 'boolean' ? 'switch' : 'text',
    hint: kind.hint,
    description: usedFrom === null ? description : `${description} Used from ${usedFrom}.`,
    isFile: /-(file|dir|cert|key-file)$/.test(flag),
    // Read when the help is written: a start does not need it.
    get default() {
      standards ??= loadConfig({ flags: new Map(), env: {} }).values;
      return defaultOf(name, standards[name]);
    },
  };
}

/** An unset setting has none: its description says what happens then. */
function defaultOf(name: string, value: unknown): string | undefined {
  if (value === null) return undefined;
  const wire = settingOf(name).kind.encode(value);
  const text = Array.isArray(wire) ? wire.join(',') : isJsonObject(wire) ? JSON.stringify(wire) : String(wire);
  if (text.length > MAX_DEFAULT_LENGTH) return 'see --print-config';
  return text === '' ? 'empty' : text;
}

/** The settings that nearly every server needs, in the order in which a reader meets them. */
export const FIRST_SETTINGS: readonly string[] = [
  'data_dir',
  'domain',
  'edge_listen',
  'edge_http_listen',
  'acme',
  'identity_host',
  'tunnel_listen',
  'api_listen',
  'database_url',
  'secret_key',
];

/** For a setting that no group names: a test rejects it in this project, and a module of others may have one. */
const OTHER = 'Other settings';
/**
 * Groups of the reference page and of `postern server --help`, each with the names or the beginnings of names of its
 * settings. The longest one decides. Settings of modules name their group.
 */
const GROUPS: readonly (readonly [title: string, names: readonly string[]])[] = [
  [
    'Data and roles',
    ['data_dir', 'database_', 'secret_key', 'roles', 'sites', 'domain', 'region', 'api_key', 'authtoken'],
  ],
  ['API and console', ['api_', 'console_', 'local_commands']],
  [
    'Listeners and proxies in front',
    ['edge_listen', 'edge_http_listen', 'workers', 'trusted_proxies', 'proxy_protocol_from', 'edge_host_ports'],
  ],
  [
    'Requests and headers',
    ['ambiguous_paths', 'drop_request_headers', 'forwarded_header', 'request_id_header', 'hsts_'],
  ],
  ['Limits of the edge', ['edge_']],
  ['Upstreams', ['upstream_', 'file_roots']],
  ['Certificates', ['acme', 'certificate_file_dirs']],
  ['Client certificates and lists of addresses', []],
  ['Logins', []],
  ['Identity host and mail', ['identity_', 'smtp_url', 'mail_from']],
  ['Tunnels', ['tunnel_', 'tcp_ports']],
  ['Several nodes', ['node_name', 'peer_', 'tunnel_address']],
  ['Events', ['events_']],
  [
    'Logs, history, metrics and traces',
    ['log_level', 'access_log', 'request_history', 'history_', 'metrics_level', 'api_metrics_open', 'otel_'],
  ],
  ['Alerts', ['alert_']],
  ['Stop', ['drain_delay', 'shutdown_timeout']],
];

function groupOf(setting: string): string {
  const { group } = settingOf(setting);
  if (group !== undefined) return group;
  const fits = GROUPS.flatMap(([title, names]) =>
    names.filter((each) => setting.startsWith(each)).map((each) => ({ title, length: each.length })),
  );
  const best = fits.sort((one, other) => other.length - one.length)[0];
  return best?.title ?? OTHER;
}

/** The groups that have settings, in the order in which a reader meets them. */
export function settingsInGroups<Name extends string>(
  names: readonly Name[],
): readonly (readonly [title: string, names: readonly Name[]])[] {
  const inGroups = Map.groupBy(names, groupOf);
  const titles = new Set([...GROUPS.map(([title]) => title), ...inGroups.keys()]);
  titles.delete(OTHER);
  return [...titles, OTHER].flatMap((title) => {
    const settings = inGroups.get(title);
    return settings === undefined ? [] : [[title, settings] as const];
  });
}
