import { isJsonObject } from '../lib/json.ts';
import { wrapText } from '../lib/wrap-text.ts';
import { loadConfig } from './load.ts';
import { flagOf, settingNames, settingOf } from './schema.ts';

const INDENT = ' '.repeat(6);
/** A longer default, such as the list of dropped headers, would hide the description. */
const MAX_DEFAULT_LENGTH = 60;

/** The flags of all settings with their descriptions and defaults, in lines of at most `width` characters. */
export function settingsHelp(width: number): string {
  const { values } = loadConfig({ flags: new Map(), env: {} });
  return settingNames
    .map((name) => {
      const lines = wrapText(`${descriptionOf(name)}${defaultOf(name, values[name])}`, width - INDENT.length);
      return [`  --${flagOf(name)}`, ...lines.map((line) => `${INDENT}${line}`)].join('\n');
    })
    .join('\n');
}

function descriptionOf(name: string): string {
  const { description, usedFrom } = settingOf(name);
  return usedFrom === null ? description : `${description} Used from ${usedFrom}.`;
}

/** An unset setting has none: its description says what happens then. */
function defaultOf(name: string, value: unknown): string {
  if (value === null) return '';
  const wire = settingOf(name).kind.encode(value);
  const text = Array.isArray(wire) ? wire.join(',') : isJsonObject(wire) ? JSON.stringify(wire) : String(wire);
  if (text.length > MAX_DEFAULT_LENGTH) return ' Default: see --print-config.';
  return ` Default: ${text === '' ? 'empty' : text}.`;
}
