import { whyUnreadable } from '../lib/error-text.ts';
import { readProgramFile } from '../lib/program-files.ts';
import { readBoundedSync } from '../lib/read-bounded.ts';
import type { DeclaredSetting } from '../lib/settings/setting.ts';
import { checkTogether } from './check-together.ts';
import { decodeSetting, isUnset } from './decode.ts';
import { CONFIG_VARIABLE, checkVariables } from './environment.ts';
import { configErrors } from './errors.ts';
import { moduleSettings } from './module-settings.ts';
import { otelValues } from './otel-variables.ts';
import { type FileEntry, readConfigText } from './read-file.ts';
import { type Config, flagOf, type OwnName, settingNames, settingOf, variableOf } from './schema.ts';

export const DEFAULTS_FILE = 'config/defaults.yaml';
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
}

/**
 * Flags override the environment, which overrides the file, which overrides variables of OpenTelemetry, which override
 * the defaults. Throws at the first invalid value.
 */
export function loadConfig({ flags, env, readText = readUtf8 }: ConfigInput): LoadedConfig {
  const warnings = checkVariables(env);
  const file = readConfigFile(flags.get(CONFIG_FLAG) || env[CONFIG_VARIABLE], readText);
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
  return { config, sources: sources as Record<OwnName, string>, values, warnings: [...warnings, ...otel.warnings] };
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
