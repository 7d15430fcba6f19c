import { resolve } from 'node:path';
import { isOn, type ParsedFlags, usage } from '../../../kit/flags.ts';
import { formatListenAddress, isLoopbackHost } from '../../../kit/net/listen-address.ts';
import type { WireValue } from '../../../kit/settings/setting.ts';
import { yamlLine } from '../../../kit/text/yaml/yaml-text.ts';
import { isPublicName } from '../../../proxy/acme/names.ts';
import { decodeSetting } from '../../settings/decode.ts';
import { withSettings } from '../../settings/edit-file.ts';
import { CONFIG_VARIABLE } from '../../settings/environment.ts';
import { type LoadedConfig, loadConfig } from '../../settings/load.ts';
import { flagOf, settingNames, settingOf, variableOf } from '../../settings/schema.ts';
import { SETTINGS_HERE } from '../api/connection.ts';
import type { CommandContext } from '../command.ts';
import { listenProblem } from '../doctor/dial.ts';
import { printable } from '../output/cell-text.ts';
import { painterFor } from '../output/terminal.ts';
import { planService, type ServicePlan, serviceVariables } from '../service/installed-server.ts';
import type { ServicePorts } from '../service/service-ports.ts';
import { isAgreed } from '../shared-flags.ts';

export type Settings = ReadonlyMap<string, WireValue>;

/** Settings that the command line names, as they are written into the file. `--email` is that of the ACME account. */
export function givenSettings(flags: ReadonlyMap<string, string>): Settings {
  const given = new Map<string, WireValue>();
  const email = flags.get('email');
  for (const name of settingNames) {
    const raw = flags.get(flagOf(name)) ?? (name === 'acme_email' ? email : undefined);
    if (raw === undefined || raw === '') continue;
    const source = flags.has(flagOf(name)) ? `flag --${flagOf(name)}` : 'flag --email';
    given.set(name, settingOf(name).kind.encode(decodeSetting(name, raw, source)));
  }
  return given;
}

interface StandardSettings {
  readonly host: string;
  readonly loaded: LoadedConfig;
  /** `::` or `0.0.0.0`. */
  readonly everywhere: string;
}

/**
 * What a server needs to serve the host to others, where nobody has chosen anything else. A name below localhost is
 * served to this machine only, as by default.
 */
export function standardSettings({ host, loaded, everywhere }: StandardSettings): Settings {
  const wanted = new Map<string, WireValue>();
  if (isLoopbackHost(host)) return wanted;
  const at = (port: number): string => formatListenAddress({ host: everywhere, port });
  wanted.set('edge_listen', at(443));
  wanted.set('edge_http_listen', at(80));
  if (isPublicName(host)) wanted.set('acme', 'on');
  // The internal CA issues certificates that people can trust for this domain alone.
  else if (host.includes('.')) wanted.set('domain', host.slice(host.indexOf('.') + 1));
  return new Map([...wanted].filter(([name]) => isUnchosen(name, loaded)));
}

function isUnchosen(name: string, { sources }: Pick<LoadedConfig, 'sources'>): boolean {
  return sources[name] === 'default' || sources[name] === 'unset';
}

/**
 * Settings that the server does not have yet. A variable overrides the file, so the file cannot change what one says.
 */
export function missingSettings(wanted: Settings, { values, sources }: LoadedConfig): Settings {
  const missing = [...wanted].filter(([name, value]) => {
    const current = values[name] ?? null;
    return current === null || JSON.stringify(settingOf(name).kind.encode(current)) !== JSON.stringify(value);
  });
  for (const [name] of missing) {
    const source = sources[name] ?? '';
    if (source.startsWith('variable'))
      throw usage(
        `${source} overrides the settings file: change it there, or unset it (${variableOf(name)}), and run this command again`,
      );
  }
  return new Map(missing);
}

/** All addresses of this machine, of both families where it has them. */
export async function everywhere(): Promise<string> {
  return (await listenProblem({ host: '::', port: 0 })) === null ? '::' : '0.0.0.0';
}

/**
 * The settings to write, after a question where they accept the terms of an ACME server. A user who types
 * --acme on accepts them by that. Null: there is nobody to ask.
 */
export async function agreedSettings(
  { changes, given, next }: { readonly changes: Settings; readonly given: Settings; readonly next: LoadedConfig },
  parsed: ParsedFlags,
  context: CommandContext,
): Promise<Settings | null> {
  if (changes.get('acme') !== 'on' || given.has('acme')) return changes;
  const servers = next.config.acme_directory.map((url) => new URL(url).host).join(', ');
  const terms = servers.includes('letsencrypt.org') ? ' (https://letsencrypt.org/repository/)' : '';
  const question = `The server will order public certificates from ${servers}. Do you accept its terms of service${terms}?`;
  if (!isOn(parsed, 'yes') && context.ask === undefined) {
    context.warn(
      `postern: ${question} There is no terminal to ask on: add --yes to accept, or --acme off for certificates of the internal CA. Nothing was changed`,
    );
    return null;
  }
  if (await isAgreed(parsed, context, question)) return changes;
  context.warn(
    'postern: going on without public certificates: the internal CA issues them, and browsers do not trust it',
  );
  return new Map([...changes].filter(([name]) => name !== 'acme'));
}

const NEW_FILE = `# Settings of the Postern server, started by "postern up". Change them as you like, then run "postern restart".
# Everybody on this machine can read this file: secrets belong in variables.
`;
const FILE_MODE = 0o644;

/** The text of the settings file with these settings; null: there is no file, and none is needed. */
export function editedText({ file, text }: Pick<SettingsPlace, 'file' | 'text'>, changes: Settings): string | null {
  return text === null && changes.size === 0 ? null : withSettings(text ?? NEW_FILE, file, changes);
}

interface Writing {
  readonly former: LoadedConfig;
  readonly context: CommandContext;
  readonly ports: Pick<ServicePorts, 'write' | 'modeOf'>;
}

/** Shows the difference, and writes it. A server starts with a file even if all its settings are the defaults. */
export async function writeSettings(
  place: SettingsPlace,
  changes: Settings,
  { former, context, ports }: Writing,
): Promise<void> {
  const { file, text } = place;
  if (text !== null && changes.size === 0) return;
  const paint = painterFor(context);
  context.print(`${text === null ? 'new file' : 'file'} ${file}`);
  for (const [name, value] of changes) {
    const isNew = isUnchosen(name, former);
    const before = isNew ? '' : `${yamlLine(settingOf(name).kind.encode(former.values[name]))} -> `;
    context.print(
      paint(printable(`  ${isNew ? '+' : '~'} ${name}: ${before}${yamlLine(value)}`), isNew ? 'green' : 'yellow'),
    );
  }
  await ports.write(file, editedText(place, changes) ?? NEW_FILE, ports.modeOf(file) ?? FILE_MODE);
}

const FILE_OF_SERVICE = '/etc/postern/server.yaml';

/** Where the settings of the server are, or will be. */
export interface SettingsPlace {
  /** The service that runs the server; null: it runs in this terminal. */
  readonly service: ServicePlan | null;
  /** The YAML file. */
  readonly file: string;
  /** Text of the file; null: there is no file yet. */
  readonly text: string | null;
  /** Variables of the server. */
  readonly env: CommandContext['env'];
  /** Whether a server that runs already knows the file. */
  readonly isKnown: boolean;
  /** Nobody named the file: the current directory happens to have it, so it may be anybody's. */
  readonly isFound: boolean;
}

/** A file that this command makes, and removes again if it fails: no unit names it. */
export function isOwnNewFile({ service, text }: SettingsPlace): boolean {
  return service === null && text === null;
}

export function findSettings(
  flags: ReadonlyMap<string, string>,
  context: CommandContext,
  ports: ServicePorts,
): SettingsPlace {
  const given = flags.get('config');
  if (!ports.isRoot() || !ports.hasSystemd()) {
    const named = given ?? context.env[CONFIG_VARIABLE];
    const file = named ?? SETTINGS_HERE;
    const text = ports.read(file);
    return {
      service: null,
      file,
      text,
      env: context.env,
      isKnown: true,
      isFound: named === undefined && text !== null,
    };
  }
  const service = planService({ role: 'server', flags: new Map(), command: ports.ownCommand(), env: context.env });
  const env = serviceVariables(service, ports, context.env);
  const named = env[CONFIG_VARIABLE];
  const file = given === undefined ? (named ?? FILE_OF_SERVICE) : resolve(given);
  return { service, file, text: ports.read(file), env, isKnown: named === file, isFound: false };
}

/** The settings that a server would have with this text in its file. */
export function loadSettings(
  place: SettingsPlace,
  text: string | null = place.text,
  given: ReadonlyMap<string, string> = new Map(),
): LoadedConfig {
  const flags = new Map([...given, ...(text === null ? [] : [['config', place.file] as const])]);
  const { [CONFIG_VARIABLE]: _, ...env } = place.env;
  return loadConfig({ flags, env, readText: () => text ?? '' });
}
