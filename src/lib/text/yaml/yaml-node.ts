import type { JsonValue } from '../../json.ts';

/** A value of a file with the line where it stands. */
export type YamlNode = YamlMap | YamlList | YamlScalar;

export interface YamlMap {
  readonly type: 'map';
  readonly line: number;
  readonly entries: ReadonlyMap<string, YamlEntry>;
}

export interface YamlEntry {
  /** The line of the key. */
  readonly line: number;
  readonly node: YamlNode;
}

export interface YamlList {
  readonly type: 'list';
  readonly line: number;
  readonly items: readonly YamlNode[];
}

export interface YamlScalar {
  readonly type: 'scalar';
  readonly line: number;
  readonly value: string | number | boolean | null;
}

/** The value without lines. */
export function plainValue(node: YamlNode): JsonValue {
  if (node.type === 'scalar') return node.value;
  if (node.type === 'list') return node.items.map(plainValue);
  // Object.fromEntries makes "__proto__" an ordinary field.
  return Object.fromEntries([...node.entries].map(([name, entry]) => [name, plainValue(entry.node)]));
}
