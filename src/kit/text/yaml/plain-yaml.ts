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

/** Texts that no version of YAML reads as anything else, at any place. */
const WORDS = /^(?:\.\/|[A-Za-z/_])[A-Za-z0-9/._@+*-]*(?::[A-Za-z0-9/._-]+)*(?: [A-Za-z0-9/._@+-]+)*$/;
const WORD = /^(?:\.\/|[A-Za-z/_])[A-Za-z0-9/._@+*-]*(?::[A-Za-z0-9/._-]+)*$/;
/** Addresses with ports, networks and times start with a digit and are texts too. */
const NOT_A_NUMBER = /^(?:\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5}(?:-\d{1,5})?|\/\d{1,2})?|\d{1,9}[smhd])$/;
const OTHER_TYPE = /^(?:true|false|null)$/i;
const INTEGER = /^(?:0|-?[1-9]\d{0,14})$/;
const QUOTED = /^"[\x20\x21\x23-\x5b\x5d-\x7e]*"$/;
const KEY_LINE = /^( *)("[\x20\x21\x23-\x5b\x5d-\x7e]{0,500}"|[A-Za-z0-9/_][A-Za-z0-9/._@+-]{0,500}):(?: +(\S.*))?$/;
const ITEM_LINE = /^( *)- +(\S.*)$/;
const BLANK = /^ *(?:#.*)?$/;
const COMMENT = ' #';
/** Tabs, returns, other controls, and byte order marks. */
const UNUSUAL = /[^\n\x20-\ufefe\uff00-\uffff]/;
/** Deeper ones are left to the library, which has its own limit. */
const MAX_DEPTH = 32;

class NotPlain extends Error {}

/**
 * Reads maps, lists and values of the simple forms that most files consist of: one `key: value` per line, and lists or
 * maps without further levels on one line. Null for any other text, valid or not, which is left to the library. The
 * library takes 25 µs and 4 KB for each line: for 10,000 edges half of the time of `postern plan`.
 */
export function readPlainYaml(text: string): YamlMap | null {
  if (UNUSUAL.test(text)) return null;
  try {
    return new PlainReader(text.split('\n')).read();
  } catch (error) {
    if (error instanceof NotPlain) return null;
    throw error;
  }
}

interface KeyLine {
  readonly indent: number;
  readonly key: string;
  readonly value: string | undefined;
}

class PlainReader {
  readonly #lines: readonly string[];
  #at = 0;

  constructor(lines: readonly string[]) {
    this.#lines = lines;
  }

  read(): YamlMap | null {
    this.#skipBlank();
    if (this.#at === this.#lines.length) return null;
    const root = this.#map(0, 0);
    return this.#at === this.#lines.length ? root : notPlain();
  }

  /** A map whose keys have this indentation. */
  #map(indent: number, depth: number): YamlMap {
    if (depth > MAX_DEPTH) notPlain();
    const entries = new Map<string, YamlEntry>();
    const line = this.#at + 1;
    for (let next = this.#keyLine(); next !== null && next.indent === indent; next = this.#keyLine()) {
      if (entries.has(next.key)) notPlain();
      const own = this.#at + 1;
      this.#at += 1;
      const node = next.value === undefined ? this.#block(indent, own, depth) : nodeOf(next.value, own);
      entries.set(next.key, { line: own, node });
      this.#skipBlank();
      // Anything deeper would continue the value.
      if (indentOf(this.#lines[this.#at]) > indent) notPlain();
    }
    return { type: 'map', line, entries };
  }

  /** What follows a key without a value. */
  #block(indent: number, line: number, depth: number): YamlNode {
    this.#skipBlank();
    const next = this.#lines[this.#at];
    const inner = indentOf(next);
    if (next !== undefined && ITEM_LINE.test(next) && inner >= indent) return this.#list(inner);
    return inner > indent ? this.#map(inner, depth + 1) : { type: 'scalar', line, value: null };
  }

  #list(indent: number): YamlList {
    const items: YamlNode[] = [];
    const line = this.#at + 1;
    for (let found = this.#itemLine(indent); found !== null; found = this.#itemLine(indent)) {
      items.push(nodeOf(found, this.#at + 1));
      this.#at += 1;
      this.#skipBlank();
      if (indentOf(this.#lines[this.#at]) > indent) notPlain();
    }
    return { type: 'list', line, items };
  }

  #itemLine(indent: number): string | null {
    const [, spaces = '', value = ''] = ITEM_LINE.exec(this.#lines[this.#at] ?? '') ?? [];
    return value !== '' && spaces.length === indent ? value : null;
  }

  /** Null: there are no more lines. */
  #keyLine(): KeyLine | null {
    const line = this.#lines[this.#at];
    if (line === undefined) return null;
    const [, spaces = '', key = '', value] = KEY_LINE.exec(line) ?? notPlain();
    const rest = value?.startsWith('#') === true ? undefined : value;
    return { indent: spaces.length, key: keyText(key), value: rest };
  }

  #skipBlank(): void {
    for (let line = this.#lines[this.#at]; line !== undefined && BLANK.test(line); line = this.#lines[this.#at])
      this.#at += 1;
  }
}

function nodeOf(given: string, line: number): YamlNode {
  const comment = given.indexOf(COMMENT);
  const value = (comment === -1 ? given : given.slice(0, comment)).trimEnd();
  if (value.startsWith('{')) return flowMap(value, line);
  if (value.startsWith('['))
    return { type: 'list', line, items: flowItems(value, ']').map((item) => scalar(item, WORD, line)) };
  return scalar(value, WORDS, line);
}

function flowMap(value: string, line: number): YamlMap {
  const entries = new Map<string, YamlEntry>();
  for (const item of flowItems(value, '}')) {
    const at = item.indexOf(': ');
    const key = keyText(item.slice(0, at));
    if (at < 1 || entries.has(key)) notPlain();
    entries.set(key, { line, node: scalar(item.slice(at + 2).trimStart(), WORD, line) });
  }
  return { type: 'map', line, entries };
}

/** A text with a comma is divided here, and then no part of it is plain. */
function flowItems(value: string, end: string): readonly string[] {
  if (!value.endsWith(end)) notPlain();
  const inner = value.slice(1, -1).trim();
  return inner === '' ? [] : inner.split(/, */);
}

function scalar(value: string, plain: RegExp, line: number): YamlScalar {
  if (QUOTED.test(value)) return { type: 'scalar', line, value: value.slice(1, -1) };
  if (value === 'true' || value === 'false') return { type: 'scalar', line, value: value === 'true' };
  if (INTEGER.test(value)) return { type: 'scalar', line, value: Number(value) };
  if (NOT_A_NUMBER.test(value) || (plain.test(value) && !OTHER_TYPE.test(value)))
    return { type: 'scalar', line, value };
  return notPlain();
}

function keyText(key: string): string {
  if (QUOTED.test(key)) return key.slice(1, -1);
  return NOT_A_NUMBER.test(key) || (WORD.test(key) && !OTHER_TYPE.test(key)) ? key : notPlain();
}

function indentOf(line: string | undefined): number {
  return line === undefined ? -1 : line.length - line.trimStart().length;
}

function notPlain(): never {
  throw new NotPlain();
}
