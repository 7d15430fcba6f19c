import { isAlias, isMap, isScalar, isSeq, type LineCounter, type Node } from 'yaml';
import type { YamlProblem, YamlRules } from './read-yaml.ts';
import type { YamlEntry, YamlMap, YamlNode } from './yaml-node.ts';

/** Far more than a file of a person has. */
const MAX_DEPTH = 64;
/** Values that stand for others through aliases; more is a file that multiplies itself. */
const MAX_ALIASED = 100_000;
const MERGE = '<<';

interface Pair {
  readonly key: unknown;
  readonly value: unknown;
}

/** Turns the library's nodes into ours. An alias shares the node of its anchor: nothing is copied. */
export class NodeReader {
  readonly problems: YamlProblem[] = [];
  readonly #rules: YamlRules;
  readonly #lines: LineCounter;
  readonly #anchors = new Map<string, YamlNode>();
  /** How many values each node with aliases inside stands for. */
  readonly #sizes = new Map<YamlNode, number>();
  /** Keys and positions around the node that is read. */
  readonly #path: (string | number)[] = [];
  #aliased = 0;

  constructor(rules: YamlRules, lines: LineCounter) {
    this.#rules = rules;
    this.#lines = lines;
  }

  /** Null after a problem was recorded. `around` is the offset of what the node is in. */
  read(node: unknown, around: number): YamlNode | null {
    const offset = offsetOf(node) ?? around;
    if (this.#path.length > MAX_DEPTH) return this.#problem(offset, `is nested more than ${MAX_DEPTH} levels deep`);
    if (node === null || node === undefined) return { type: 'scalar', line: this.#lineAt(offset), value: null };
    if (isAlias(node)) return this.#aliasOf(node.source, offset);
    const { anchor } = node as { readonly anchor?: string };
    if (anchor !== undefined && !this.#rules.hasAliases) {
      return this.#problem(offset, 'has an anchor ("&name"), which is not allowed: remove it, and write values out');
    }
    const read = this.#valueOf(node, offset);
    if (anchor !== undefined && read !== null) this.#anchors.set(anchor, read);
    return read;
  }

  #valueOf(node: unknown, offset: number): YamlNode | null {
    if (isMap(node)) return this.#map(node.items, offset);
    const line = this.#lineAt(offset);
    if (isSeq(node)) {
      const items = node.items.flatMap((item, at) => this.#inside(at, item, offset) ?? []);
      return this.#sized({ type: 'list', line, items }, items);
    }
    const value = isScalar(node) ? node.value : undefined;
    if (value === null || typeof value === 'string' || typeof value === 'boolean')
      return { type: 'scalar', line, value };
    if (typeof value === 'number' && Number.isFinite(value)) return { type: 'scalar', line, value };
    return this.#problem(offset, 'has a value of a type that is not allowed here: use texts, numbers, true and false');
  }

  #map(items: readonly Pair[], offset: number): YamlMap {
    const entries = new Map<string, YamlEntry>();
    const merged: YamlNode[] = [];
    for (const { key, value } of items) {
      const keyOffset = offsetOf(key) ?? offset;
      const name = this.#nameOf(key);
      if (name === null) {
        const within = this.#path.length === 0 ? '' : ` in ${this.#path.join('.')}`;
        this.#problem(keyOffset, `a key${within} must be a string: quote it`);
        continue;
      }
      const before = entries.get(name);
      if (before !== undefined) {
        const shown = JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name);
        const problem = `has the key ${shown} twice (first on line ${before.line}): remove one`;
        this.#problem(keyOffset, problem, 'DUPLICATE_KEY');
        continue;
      }
      const node = this.#inside(name, value, keyOffset);
      if (node === null) continue;
      if (name === MERGE && this.#rules.isForeign === true) {
        if (isMergeable(node)) merged.push(node);
        else this.#problem(keyOffset, 'merges ("<<") a value that is not a map');
      } else entries.set(name, { line: this.#lineAt(keyOffset), node });
    }
    for (const node of merged) mergeInto(entries, node);
    const children = Array.from(entries.values(), (entry) => entry.node);
    return this.#sized({ type: 'map', line: this.#lineAt(offset), entries }, children);
  }

  #inside(place: string | number, node: unknown, around: number): YamlNode | null {
    this.#path.push(place);
    const read = this.read(node, around);
    this.#path.pop();
    return read;
  }

  #nameOf(key: unknown): string | null {
    const name = isScalar(key) ? key.value : undefined;
    if (typeof name === 'string') return name;
    const isPlain = typeof name === 'number' || typeof name === 'boolean';
    return this.#rules.isForeign === true && isPlain ? String(name) : null;
  }

  #aliasOf(name: string, offset: number): YamlNode | null {
    if (!this.#rules.hasAliases) {
      return this.#problem(offset, 'uses an alias ("*name"), which is not allowed: write the value out');
    }
    const target = this.#anchors.get(name);
    // Also an alias inside its own anchor, which would be endless.
    if (target === undefined)
      return this.#problem(offset, 'uses an alias ("*name") without its anchor ("&name") before it');
    this.#aliased += this.#sizes.get(target) ?? 1;
    if (this.#aliased > MAX_ALIASED) {
      return this.#problem(offset, 'uses too many aliases ("*name"): write the values out');
    }
    const shared = { ...target, line: this.#lineAt(offset) };
    this.#sizes.set(shared, this.#sizes.get(target) ?? 1);
    return shared;
  }

  #sized<T extends YamlNode>(node: T, children: readonly YamlNode[]): T {
    if (this.#rules.hasAliases) {
      this.#sizes.set(
        node,
        children.reduce((sum, child) => sum + (this.#sizes.get(child) ?? 1), 1),
      );
    }
    return node;
  }

  #lineAt(offset: number): number {
    return this.#lines.linePos(offset).line;
  }

  #problem(offset: number, problem: string, code: string | null = null): null {
    this.problems.push(problemAt(this.#lines, offset, code, problem));
    return null;
  }
}

export function problemAt(lines: LineCounter, offset: number, code: string | null, problem: string): YamlProblem {
  const { line, col } = lines.linePos(offset);
  // An empty text has no lines.
  return { line: Math.max(line, 1), column: Math.max(col, 1), code, problem };
}

function isMergeable(node: YamlNode): boolean {
  return node.type === 'map' || (node.type === 'list' && node.items.every(({ type }) => type === 'map'));
}

/** What the map has itself wins, then the first of several merged maps. */
function mergeInto(entries: Map<string, YamlEntry>, node: YamlNode): void {
  const maps = node.type === 'list' ? node.items : [node];
  for (const map of maps) {
    if (map.type !== 'map') continue;
    for (const [name, entry] of map.entries) if (!entries.has(name)) entries.set(name, entry);
  }
}

function offsetOf(node: unknown): number | undefined {
  return (node as Partial<Node> | null)?.range?.[0];
}
