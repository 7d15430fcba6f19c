import { identityAddress } from '../../control/identity/contracts.ts';
import { whyUnreadable } from '../../kit/error-text.ts';
import { isHostOrBelow } from '../../kit/net/host-name.ts';
import { formatListenAddress, isLoopbackHost, overlapping } from '../../kit/net/listen-address.ts';
import { readProgramFile } from '../../kit/program-files.ts';
import { readBoundedSync } from '../../kit/read-bounded.ts';
import type { DeclaredSetting } from '../../kit/settings/setting.ts';
import { didYouMean } from '../../kit/text/near-match.ts';
import { plainValue } from '../../kit/text/yaml/plain-yaml.ts';
import { readYaml, yamlProblemText } from '../../kit/text/yaml/read-yaml.ts';
import { moduleSettings } from '../../modules/declared-settings.ts';
import { INTERNAL_CERTIFICATE } from '../../proxy/pki/internal-ca-places.ts';
import { decodeSetting, isUnset } from './decode.ts';
import { CONFIG_VARIABLE, checkVariables, otelValues } from './environment.ts';
import { configErrors } from './errors.ts';
import { type Config, flagOf, type OwnName, settingNames, settingOf, variableOf } from './schema.ts';

export const DEFAULTS_FILE = 'app/settings/defaults.yaml';
const CONFIG_FLAG = 'config';
/** Sources of a value that nobody has set. */
const [DEFAULT, UNSET] = ['default', 'unset'];
/** Read once: the YAML takes 8 ms. */
let defaults: ReadonlyMap<string, FileEntry> | undefined;

export interface ConfigInput {
  readonly flags: ReadonlyMap<string, string>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly readText?: (path: string) => string;
}

export interface LoadedConfig {
  readonly config: Config;
  /** The origin of each value: `flag --domain`, `variable POSTERN_DOMAIN`, `postern-server.yaml:3`, `default`. */
  readonly sources: Readonly<Record<OwnName, string> & Record<string, string>>;
  /** Every value by the name of its setting, including those of modules. */
  readonly values: Readonly<Record<string, unknown>>;
  readonly warnings: readonly string[];
  /** The configuration file, as it was named; null: none was. */
  readonly file: string | null;
}

/**
 * Flags override the environment, which overrides the file, which overrides variables of OpenTelemetry, which override
 * the defaults. Throws at the first invalid value.
 */
export function loadConfig({ flags, env, readText = readUtf8 }: ConfigInput): LoadedConfig {
  const warnings = checkVariables(env);
  const named = flags.get(CONFIG_FLAG) || env[CONFIG_VARIABLE] || null;
  const file = readConfigFile(named ?? undefined, readText);
  defaults ??= readConfigText(readProgramFile(DEFAULTS_FILE), 'defaults.yaml');

  const values: Record<string, unknown> = {};
  const sources: Record<string, string> = {};
  for (const name of settingNames) {
    const inFile = file.entries.get(name);
    const candidates = [
      { raw: flags.get(flagOf(name)), source: `flag --${flagOf(name)}` },
      { raw: env[variableOf(name)], source: `variable ${variableOf(name)}` },
      { raw: inFile?.value, source: `${file.name}:${inFile?.line}` },
      { raw: defaults.get(name)?.value ?? declaredDefault(name), source: DEFAULT },
    ];
    const given = candidates.find(({ raw }) => !isUnset(raw));
    if (given === undefined && !settingOf(name).isOptional) throw new Error(`defaults.yaml lacks ${name}`);
    values[name] = given === undefined ? null : decodeSetting(name, given.raw, given.source);
    sources[name] = given?.source ?? UNSET;
  }
  const otel = otelValues(env, (name) => sources[name] !== DEFAULT && sources[name] !== UNSET);
  for (const [name, { value, source }] of otel.values) {
    values[name] = value;
    sources[name] = source;
  }
  // Every name was visited, and decodeSetting returns the type of the setting's kind.
  const config = Object.freeze({ ...values, moduleSettings: moduleSettings(values) }) as unknown as Config;
  checkTogether(config);
  return {
    config,
    sources: sources as Record<OwnName, string>,
    values,
    warnings: [...warnings, ...otel.warnings],
    file: named,
  };
}

function readConfigFile(path: string | undefined, readText: (path: string) => string) {
  if (isUnset(path) || path === undefined) return { name: '', entries: new Map<string, FileEntry>() };
  let text: string;
  try {
    text = readText(path);
  } catch (cause) {
    throw configErrors.create(
      'ERR_POSTERN_CONFIG_FILE',
      `cannot read the configuration file ${path}: ${whyUnreadable(cause)}`,
      {
        cause,
      },
    );
  }
  return { name: path, entries: readConfigText(text, path) };
}

/** Default of a module's setting that the defaults file does not have yet. */
function declaredDefault(name: string): unknown {
  return (settingOf(name) as Partial<DeclaredSetting<unknown>>).default;
}

/** No file of settings comes near. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;

function readUtf8(path: string): string {
  return readBoundedSync(path, MAX_FILE_BYTES).toString();
}

/** Checks rules that concern several settings. */
export function checkTogether(config: Config): void {
  const { api_listen, api_tls_cert, api_tls_key } = config;
  const hasFiles = api_tls_cert !== null && api_tls_cert !== INTERNAL_CERTIFICATE;
  if (hasFiles && api_tls_key === null) throw together('api_tls_cert is a file: set api_tls_key to its key file');
  if (!hasFiles && api_tls_key !== null) {
    throw together('api_tls_key is set without a certificate file: set api_tls_cert to the file with its certificate');
  }
  if (config.tunnel_tls_cert !== INTERNAL_CERTIFICATE && config.tunnel_tls_key === null) {
    throw together('tunnel_tls_cert is a file: set tunnel_tls_key to its key file');
  }
  if (config.tunnel_tls_cert === INTERNAL_CERTIFICATE && config.tunnel_tls_key !== null) {
    throw together(
      'tunnel_tls_key is set without a certificate file: set tunnel_tls_cert to the file with its certificate',
    );
  }
  if (config.roles.includes('gateway') && !config.roles.includes('edge')) {
    throw together(
      'roles has gateway without edge: the edge in the same process serves the tunnels of agents, so add edge',
    );
  }
  for (const name of ['edge_listen', 'edge_http_listen'] as const) {
    const [wide, narrow] = (overlapping(config[name]) ?? []).map(formatListenAddress);
    if (wide !== undefined) throw together(`${name} has ${wide}, which includes ${narrow}: remove one of the two`);
  }
  checkAcme(config);
  checkConsole(config);
  checkIdentity(config);
  checkHsts(config);
  checkTracing(config);
  if (api_tls_cert === null && !isLoopbackHost(api_listen.host)) {
    throw together(
      `api_listen is ${formatListenAddress(api_listen)}, which is not loopback, and API keys would cross the network unencrypted: ` +
        'set api_tls_cert and api_tls_key (POSTERN_API_TLS_CERT, POSTERN_API_TLS_KEY), or api_tls_cert to "internal", or listen on 127.0.0.1',
    );
  }
}

function checkAcme(config: Config): void {
  const { acme_eab_key_id, acme_eab_key, acme_challenges, acme_directory } = config;
  if ((acme_eab_key_id === null) !== (acme_eab_key === null)) {
    const [missing, given] =
      acme_eab_key === null ? ['acme_eab_key', 'acme_eab_key_id'] : ['acme_eab_key_id', 'acme_eab_key'];
    throw together(`${given} is set without ${missing}: external account binding needs both`);
  }
  if (acme_challenges.includes('dns-01') && config.acme_dns.length === 0) {
    throw together(
      'acme_challenges has dns-01: set acme_dns to the DNS providers of your zones, or its zone "*" to a hook, an executable that publishes the DNS records',
    );
  }
  if (acme_directory.length === 0) throw together('acme_directory is empty: list at least one directory URL');
}

function checkConsole(config: Config): void {
  const { console_oidc_issuer: issuer, console_oidc_client_id: clientId, console_roles: roles } = config;
  if (issuer === null) {
    const isClientSet = clientId !== null || config.console_oidc_client_secret !== null;
    // With an identity host, people log in there.
    const hasRolesAlone = roles.length > 0 && config.identity_host === null;
    if (!isClientSet && !hasRolesAlone) return;
    throw together(
      'console_oidc_client_id, console_oidc_client_secret or console_roles is set without console_oidc_issuer: set the URL of the OpenID provider, or for console_roles alone identity_host',
    );
  }
  if (clientId === null) throw together('console_oidc_issuer is set: set console_oidc_client_id too');
  if (roles.length === 0) {
    throw together(
      'console_oidc_issuer is set, but console_roles is empty, so nobody could log in: add a rule such as admin=email:you@example.com',
    );
  }
}

function checkIdentity(config: Config): void {
  const { identity_host: host, domain, smtp_url, mail_from } = config;
  const hostname = identityAddress(host)?.hostname ?? null;
  if (hostname !== null && isHostOrBelow(domain, hostname)) {
    throw together(
      `identity_host is ${host}, and domain is ${domain}: no tunnel could have a name below it. Use a name of its own, such as id.${domain}`,
    );
  }
  if ((smtp_url === null) !== (mail_from === null)) {
    const [given, missing] = smtp_url === null ? ['mail_from', 'smtp_url'] : ['smtp_url', 'mail_from'];
    throw together(`${given} is set without ${missing}: mail needs both`);
  }
  if (!config.identity_email_codes) return;
  const missing = host === null ? 'identity_host' : smtp_url === null ? 'smtp_url' : null;
  if (missing !== null) throw together(`identity_email_codes is on without ${missing}: set it, or turn the codes off`);
}

function checkTracing({ otel_endpoint, otel_traces_endpoint, otel_headers }: Config): void {
  if (otel_headers !== null && otel_endpoint === null && otel_traces_endpoint === null)
    throw together('otel_headers is set without otel_endpoint: set the URL of the OpenTelemetry collector');
}

const PRELOAD_SECONDS = 31_536_000;

function checkHsts({
  hsts_max_age: seconds,
  hsts_include_subdomains: isWide,
  hsts_preload: isPreloaded,
}: Config): void {
  if (isPreloaded && (!isWide || seconds < PRELOAD_SECONDS)) {
    throw together(
      `hsts_preload requires hsts_include_subdomains and an hsts_max_age of at least ${PRELOAD_SECONDS} (one year), which browser preload lists demand`,
    );
  }
  if (isWide && seconds === 0) throw together('hsts_include_subdomains is set without hsts_max_age: set both, or none');
}

function together(message: string): Error {
  return configErrors.create('ERR_POSTERN_CONFIG_TOGETHER', message);
}

export interface FileEntry {
  readonly value: unknown;
  readonly line: number;
}

/** The settings of a YAML file with their lines. Messages never quote the file: a line may contain a secret. */
export function readConfigText(text: string, fileName: string): Map<string, FileEntry> {
  const { root, problems } = readYaml(text, { hasAliases: true });
  const [first] = problems;
  if (first !== undefined) throw fileError(`${fileName}:${first.line}: ${yamlProblemText(first)}`);
  const entries = new Map<string, FileEntry>();
  if (root === null) return entries;
  if (root.type !== 'map') throw fileError(`${fileName}: must be a map of settings, "name: value" on each line`);
  for (const [name, { line, node }] of root.entries) {
    if (!settingNames.includes(name)) throw unknownKey(name, `${fileName}:${line}`);
    entries.set(name, { value: plainValue(node), line });
  }
  return entries;
}

function unknownKey(name: string, where: string): Error {
  const message = `${where}: unknown setting ${JSON.stringify(name.slice(0, 60))}.${didYouMean(name, settingNames)}`;
  return configErrors.create('ERR_POSTERN_CONFIG_UNKNOWN', message);
}

function fileError(message: string): Error {
  return configErrors.create('ERR_POSTERN_CONFIG_FILE', message);
}

/**
 * `POSTERN_API_URL` may be left over from a shell that uses another server on this machine: it would prefix every uri.
 */
export function foreignApiUrl({ config, sources }: LoadedConfig): readonly string[] {
  const { api_url: apiUrl, api_listen: listen } = config;
  if (apiUrl === null || listen.port === 0 || sources.api_url !== `variable ${variableOf('api_url')}`) return [];
  const { hostname, port } = new URL(apiUrl);
  if (!isLoopbackHost(hostname) || port === String(listen.port)) return [];
  return [
    `POSTERN_API_URL is ${apiUrl}, but the API listens on port ${listen.port}: every uri in a response starts with it. If it is meant for commands, unset it and set POSTERN_CLI_API_URL`,
  ];
}
