import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseAllDocuments } from 'yaml';
import type { FileEntry, FileMap, FileNode, FileProblem } from './file-node.ts';
import { quoted } from './file-node.ts';
import { MAX_FILE_BYTES } from './format.ts';

const MAX_SYNTAX_PROBLEMS = 20;
/** Far more than the format has. */
const MAX_DEPTH = 64;

export interface YamlReading {
  /** Null when the text cannot be read, or has no content. */
  readonly root: FileMap | null;
  readonly problems: readonly FileProblem[];
}

/** Reads one document as maps, lists and values. Aliases are rejected and never expanded. */
export function readYaml(file: string, text: string): YamlReading {
  const problems: FileProblem[] = [];
  const fail = (line: number, problem: string): YamlReading => ({ root: null, problems: [{ file, line, problem }] });
  if (text.length > MAX_FILE_BYTES) {
    return fail(1, `is larger than ${MAX_FILE_BYTES / 1024 / 1024} MiB: divide it into several files`);
  }
  const lines = new LineCounter();
  let documents: ReturnType<typeof parseAllDocuments>;
  try {
    // The library compares each key with all others of its map; the reader below does it with a Map.
    documents = parseAllDocuments(text, { lineCounter: lines, uniqueKeys: false, merge: false, logLevel: 'silent' });
  } catch {
    return fail(1, 'is nested too deeply to be read');
  }
  const [document, second] = 'empty' in documents ? [] : documents;
  if (document === undefined) return { root: null, problems };
  if (second !== undefined) {
    return fail(lines.linePos(second.range?.[0] ?? 0).line, 'starts a second document: put it into a file of its own');
  }
  const found = [...document.errors, ...document.warnings];
  for (const { pos, message } of found.slice(0, MAX_SYNTAX_PROBLEMS)) {
    const [first = 'is not valid YAML'] = message.split('\n');
    problems.push({
      file,
      line: lines.linePos(pos[0]).line,
      problem: first.replace(/ at line \d+, column \d+:?$/, ''),
    });
  }
  if (problems.length > 0) return { root: null, problems };
  const reader = new NodeReader(file, lines, problems);
  const root = reader.read(document.contents as Node | null, 1, 0);
  if (root === null || (root.type === 'scalar' && root.value === null)) return { root: null, problems };
  if (root.type !== 'map') return fail(root.line, 'must be a map: start it with "version: 1"');
  return { root, problems };
}

class NodeReader {
  readonly #file: string;
  readonly #lines: LineCounter;
  readonly #problems: FileProblem[];

  constructor(file: string, lines: LineCounter, problems: FileProblem[]) {
    this.#file = file;
    this.#lines = lines;
    this.#problems = problems;
  }

  /** Null after a problem was recorded. */
  read(node: unknown, lineAround: number, depth: number): FileNode | null {
    const line = this.#lineOf(node) ?? lineAround;
    if (depth > MAX_DEPTH) return this.#problem(line, `is nested more than ${MAX_DEPTH} levels deep`);
    if (node === null || node === undefined) return { type: 'scalar', line, value: null };
    if (isAlias(node)) return this.#problem(line, 'uses an alias ("*name"), which is not allowed: write the value out');
    if ((node as { anchor?: string }).anchor !== undefined) {
      return this.#problem(line, 'has an anchor ("&name"), which is not allowed: remove it, and write values out');
    }
    if (isMap(node)) return this.#map(node.items, line, depth);
    if (isSeq(node)) {
      const items = node.items.flatMap((item) => this.read(item, line, depth + 1) ?? []);
      return { type: 'list', line, items };
    }
    const value = isScalar(node) ? node.value : undefined;
    if (value === null || typeof value === 'string' || typeof value === 'boolean')
      return { type: 'scalar', line, value };
    if (typeof value === 'number' && Number.isFinite(value)) return { type: 'scalar', line, value };
    return this.#problem(line, 'has a value of a type that is not allowed here: use texts, numbers, true and false');
  }

  #map(items: readonly { readonly key: unknown; readonly value: unknown }[], line: number, depth: number): FileMap {
    const entries = new Map<string, FileEntry>();
    for (const { key, value } of items) {
      const keyLine = this.#lineOf(key) ?? line;
      const name = isScalar(key) ? key.value : undefined;
      if (typeof name !== 'string') {
        this.#problem(keyLine, 'has a key that is not a text: put it in quotes');
        continue;
      }
      const before = entries.get(name);
      if (before !== undefined) {
        this.#problem(keyLine, `has the key ${quoted(name)} twice (first on line ${before.line}): remove one`);
        continue;
      }
      const node = this.read(value, keyLine, depth + 1);
      if (node !== null) entries.set(name, { line: keyLine, node });
    }
    return { type: 'map', line, entries };
  }

  #lineOf(node: unknown): number | null {
    const offset = (node as Partial<Node> | null)?.range?.[0];
    return offset === undefined ? null : this.#lines.linePos(offset).line;
  }

  #problem(line: number, problem: string): null {
    this.#problems.push({ file: this.#file, line, problem });
    return null;
  }
}
