import { databaseServers, withServersOf } from '../../kit/net/database-url.ts';
import type { WireValue } from '../../kit/settings/setting.ts';
import { yamlLine } from '../../kit/text/yaml/yaml-text.ts';
import type { LoadedConfig } from './load.ts';
import { settingNames, settingOf } from './schema.ts';

const MASK = '********';
const SECRET_PARAMETERS = /password|secret|token|key/i;

/** The effective configuration as YAML: the origin of each value as a comment, and no secret or part of one. */
export function printConfig({ values, sources }: LoadedConfig): string {
  const lines = settingNames.map((name) => {
    const value = shownValue(name, values[name]);
    // One line each: the origin follows the value as a comment.
    const text = value === null ? '' : ` ${yamlLine(value)}`;
    return `${name}:${text} # ${oneLine(sources[name] ?? '')}\n`;
  });
  return lines.join('');
}

/** No secret or part of one. */
function shownValue(name: string, value: unknown): WireValue | null {
  const setting = settingOf(name);
  if (value === null) return null;
  if (setting.secrecy === 'secret') return MASK;
  const wire = setting.kind.encode(value);
  return setting.secrecy === 'password' ? maskedUrl(wire as string) : wire;
}

/** The URL without its password, whether that is before the host or among the parameters. */
export function maskedUrl(text: string): string {
  // Null also for a password with a bare / ? or #, which parses as host and path: no part of it must be shown.
  const first = databaseServers(text)?.urls[0];
  if (first === undefined) return MASK;
  const url = new URL(first);
  if (url.password !== '') url.password = MASK;
  for (const name of new Set(url.searchParams.keys())) {
    if (SECRET_PARAMETERS.test(name)) url.searchParams.set(name, MASK);
  }
  return withServersOf(url.href, text);
}

/** A file name may contain a line break, which would end the comment. */
function oneLine(text: string): string {
  return text.replace(/\p{Cc}/gu, '?');
}

interface ShownSetting {
  readonly name: string;
  readonly value: WireValue | null;
  readonly source: string;
  readonly secret: boolean;
  readonly description: string;
}

/** The effective settings with their origins, and no secret or part of one. */
export function shownSettings({ values, sources }: Pick<LoadedConfig, 'values' | 'sources'>): readonly ShownSetting[] {
  return settingNames.map((name) => {
    const { secrecy, description } = settingOf(name);
    return {
      name,
      value: shownValue(name, values[name] ?? null),
      source: sources[name] ?? 'default',
      secret: secrecy !== 'public',
      description,
    };
  });
}
