import type { JsonValue } from '../lib/json.ts';

/** A value of the file with the line where it stands. */
export type FileNode = FileMap | FileList | FileScalar;

export interface FileMap {
  readonly type: 'map';
  readonly line: number;
  readonly entries: ReadonlyMap<string, FileEntry>;
}

export interface FileEntry {
  /** The line of the key. */
  readonly line: number;
  readonly node: FileNode;
}

export interface FileList {
  readonly type: 'list';
  readonly line: number;
  readonly items: readonly FileNode[];
}

export interface FileScalar {
  readonly type: 'scalar';
  readonly line: number;
  readonly value: string | number | boolean | null;
}

export interface FileProblem {
  readonly file: string;
  readonly line: number;
  readonly problem: string;
}

/** The value without lines. */
export function plainValue(node: FileNode): JsonValue {
  if (node.type === 'scalar') return node.value;
  if (node.type === 'list') return node.items.map(plainValue);
  // Object.fromEntries makes "__proto__" an ordinary field.
  return Object.fromEntries([...node.entries].map(([name, entry]) => [name, plainValue(entry.node)]));
}

/** A name of the file for a message: quoted and short. */
export function quoted(name: string): string {
  return JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name);
}
