import { isDeepStrictEqual } from 'node:util';
import type { WireValue } from '../../kit/settings/setting.ts';
import { withField } from '../../kit/text/yaml/read-yaml.ts';
import { yamlLine } from '../../kit/text/yaml/yaml-text.ts';
import { configErrors } from './errors.ts';
import { readConfigText } from './load.ts';

/**
 * A YAML file of settings with some of them changed or added. Everything else stays byte by byte, comments included:
 * the file belongs to its operator. Throws if the form of the file does not allow that.
 */
export function withSettings(text: string, fileName: string, changes: ReadonlyMap<string, WireValue>): string {
  const before = valuesIn(text, fileName);
  let edited = text;
  for (const [name, value] of changes) edited = withField(edited, name, value);
  const wanted = new Map([...before, ...changes]);
  if (isDeepStrictEqual(readable(edited, fileName), wanted)) return edited;
  const lines = Array.from(changes, ([name, value]) => `${name}: ${yamlLine(value)}`).join('\n  ');
  throw configErrors.create(
    'ERR_POSTERN_CONFIG_FILE',
    `${fileName} has a form that this command cannot change without touching the rest. Set these in it yourself, and run the command again: ${lines}`,
  );
}

function valuesIn(text: string, fileName: string): Map<string, unknown> {
  return new Map(Array.from(readConfigText(text, fileName), ([name, { value }]) => [name, value]));
}

/** Null: the edit broke the file. */
function readable(text: string, fileName: string): Map<string, unknown> | null {
  try {
    return valuesIn(text, fileName);
  } catch {
    return null;
  }
}
