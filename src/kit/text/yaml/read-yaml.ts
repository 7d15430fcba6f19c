import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseAllDocuments, parseDocument } from 'yaml';
import type { JsonValue } from '../../json.ts';
import { readPlainYaml, type YamlEntry, type YamlMap, type YamlNode } from './plain-yaml.ts';
import { yamlLine } from './yaml-text.ts';

const MAX_SYNTAX_PROBLEMS = 20;

export interface YamlRules {
  /** Whether `*name` stands for the value of `&name`. False: both are problems. */
  readonly hasAliases: boolean;
  /** A file of another program: `<<` merges maps, and keys may be numbers. */
  readonly isForeign?: boolean;
}

export interface YamlProblem {
  readonly line: number;
  readonly column: number;
  /** The parser's code; null for text that is valid YAML and not allowed. */
  readonly code: string | null;
  /** The text never quotes a value, which may be a secret. */
  readonly problem: string;
}

export interface YamlReading {
  /** Null when the text cannot be read, or has no content. */
  readonly root: YamlNode | null;
  readonly problems: readonly YamlProblem[];
}

/** The problem after the name of the file and the line. */
export function yamlProblemText({ code, column, problem }: YamlProblem): string {
  return code === null ? problem : `is not valid YAML (column ${column}): ${problem}`;
}

/** Reads one document as maps, lists and values with their lines. Callers check these by their own schema. */
export function readYaml(text: string, rules: YamlRules): YamlReading {
  const plain = readPlainYaml(text);
  return plain === null ? readWithLibrary(text, rules) : { root: plain, problems: [] };
}

export function readWithLibrary(text: string, rules: YamlRules): YamlReading {
  const lines = new LineCounter();
  const fail = (problem: YamlProblem): YamlReading => ({ root: null, problems: [problem] });
  let documents: ReturnType<typeof parseAllDocuments>;
  try {
    // The library compares each key with all others of its map; the reader does it with a Map.
    documents = parseAllDocuments(text, {
      lineCounter: lines,
      uniqueKeys: false,
      merge: false,
      prettyErrors: false,
      logLevel: 'silent',
    });
  } catch {
    return fail(problemAt(lines, 0, 'RESOURCE_EXHAUSTION', TOO_DEEP));
  }
  const [document, second] = 'empty' in documents ? [] : documents;
  // A text without a document, such as a directive alone, has its own list.
  const { errors, warnings } = 'empty' in documents ? documents : (document ?? { errors: [], warnings: [] });
  const faults = [...errors, ...warnings].slice(0, MAX_SYNTAX_PROBLEMS);
  if (faults.length > 0) {
    const problems = faults.map(({ pos, code, message }) => problemAt(lines, pos[0], code, wordsOf(code, message)));
    return { root: null, problems };
  }
  if (document === undefined) return { root: null, problems: [] };
  if (second !== undefined) {
    const start = second.range?.[0] ?? 0;
    return fail(problemAt(lines, start, null, 'starts a second document: put it into a file of its own'));
  }
  const reader = new NodeReader(rules, lines);
  const root = reader.read(document.contents, 0);
  return { root: isEmpty(root) ? null : root, problems: reader.problems };
}

const TOO_DEEP = 'is nested too deeply to be read';

function isEmpty(root: YamlNode | null): boolean {
  return root === null || (root.type === 'scalar' && root.value === null);
}

/** The parser's words without what they quote of the text. */
function wordsOf(code: string, message: string): string {
  if (code === 'RESOURCE_EXHAUSTION') return TOO_DEEP;
  const known = syntaxWords(code, message);
  if (known !== null) return known;
  const [first = ''] = message.split('\n');
  const words = first.replace(/: .*$|(?<=Invalid escape sequence|directive).*$/, '');
  return words === '' ? 'is not valid YAML' : words;
}

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

const UNCLOSED = 'a [ or { is not closed: close it with ] or }, and indent what is inside it';

/** What is wrong and what to do, by the code of the parser. They quote nothing of the text. */
const SENTENCES: Readonly<Record<string, (message: string) => string | null>> = {
  BAD_INDENT: (message) =>
    message.startsWith('Flow')
      ? UNCLOSED
      : 'the line is indented by another number of spaces than the lines that it belongs to: give them the same',
  TAB_AS_INDENT: () => 'is indented with a tab: YAML requires spaces',
  MULTILINE_IMPLICIT_KEY: () =>
    'a name and its ":" must be on one line: check the indentation of this line and the next',
  BLOCK_AS_IMPLICIT_KEY: () =>
    'a line has two names with ":": put the value in quotes, or the second name on a line of its own',
  BAD_SCALAR_START: () => 'a value starts with a character that YAML reserves: put the value in quotes',
  BAD_DQ_ESCAPE: () => 'a backslash in double quotes starts nothing that YAML knows: write two, or use single quotes',
  KEY_OVER_1024_CHARS: () => 'a name is longer than 1024 characters, which YAML does not allow',
  TAG_RESOLVE_FAILED: () => 'Unresolved tag: a value that starts with "!" needs quotes',
  UNEXPECTED_TOKEN: () => 'YAML does not expect this here: check quotes, brackets and the indentation',
  MISSING_CHAR: (message) => {
    if (message.includes('quote')) return 'a quote is not closed: add the missing quote';
    if (message.includes('followed by map values')) return 'a name has no ":" after it: write "name: value"';
    return message.startsWith('Flow') ? UNCLOSED : null;
  },
};

/** Null: the words of the parser say it. */
export function syntaxWords(code: string, message: string): string | null {
  return SENTENCES[code]?.(message) ?? null;
}

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
