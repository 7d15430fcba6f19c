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
/** Groups of the reference page and of `postern server --help`, each with the names or the beginnings of names of its settings. The longest one decides. */
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
  ['Limits of the edge', ['edge_', 'rate_limit_keys']],
  ['Upstreams', ['upstream_']],
  ['Certificates', ['acme', 'certificate_file_dirs']],
  ['Client certificates and lists of addresses', ['crl_', 'lists_', 'country_database']],
  ['Logins', ['oidc_', 'oauth_', 'login_', 'password_', 'agent_issuer_allow_cidrs']],
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
  return [...GROUPS.map(([title]) => title), OTHER].flatMap((title) => {
    const settings = inGroups.get(title);
    return settings === undefined ? [] : [[title, settings] as const];
  });
}
