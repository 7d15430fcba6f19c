import { isMap, isScalar, parseDocument } from 'yaml';
import type { JsonValue } from '../../json.ts';
import { yamlLine } from './yaml-text.ts';

/**
 * The text of a YAML map with one field of it changed or added; everything else stays byte by byte, comments included.
 * Some forms do not allow that: the caller reads the result, and compares.
 */
export function withField(text: string, name: string, value: JsonValue): string {
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
