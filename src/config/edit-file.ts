import { isDeepStrictEqual } from 'node:util';
import { isMap, isScalar, parseDocument } from 'yaml';
import type { WireValue } from '../lib/settings/setting.ts';
import { yamlLine } from '../lib/text/yaml/yaml-text.ts';
import { configErrors } from './errors.ts';
import { readConfigText } from './read-file.ts';

/**
 * A YAML file of settings with some of them changed or added. Everything else stays byte by byte, comments included: the
 * file belongs to its operator. Throws if the form of the file does not allow that.
 */
export function withSettings(text: string, fileName: string, changes: ReadonlyMap<string, WireValue>): string {
  const before = valuesIn(text, fileName);
  let edited = text;
  for (const [name, value] of changes) edited = withSetting(edited, name, value);
  const wanted = new Map([...before, ...changes]);
  if (isDeepStrictEqual(readable(edited, fileName), wanted)) return edited;
  const lines = Array.from(changes, ([name, value]) => `${name}: ${yamlLine(value)}`).join('\n  ');
  throw configErrors.create(
    'ERR_POSTERN_CONFIG_FILE',
    `${fileName} has a form that this command cannot change without touching the rest. Set these in it yourself, and run the command again: ${lines}`,
  );
}

function withSetting(text: string, name: string, value: WireValue): string {
  const line = yamlLine(value);
  const root = parseDocument(text, { logLevel: 'silent' }).contents;
  const pair = isMap(root) ? root.items.find(({ key }) => isScalar(key) && key.value === name) : undefined;
  if (pair === undefined) {
    const gap = text === '' || text.endsWith('\n') ? '' : '\n';
    return `${text}${gap}${name}: ${line}\n`;
  }
  const { key, value: node } = pair as unknown as { key: Ranged; value: Ranged | null };
  // From the colon on: a list in a block starts on a later line, and ends with the line of its last item.
  const start = text.indexOf(':', key.range[1]) + 1;
  const isEmpty = node === null || (isScalar(node) && node.source === '');
  const former = isEmpty ? '' : text.slice(start, node.range[1]).trimEnd();
  return `${text.slice(0, start)} ${line}${text.slice(start + former.length)}`;
}

interface Ranged {
  /** Start, end of the value, end of the node with what follows it. */
  readonly range: readonly [number, number, number];
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
