import { LineCounter, parseAllDocuments } from 'yaml';
import { NodeReader, problemAt } from './node-reader.ts';
import { readPlainYaml } from './plain-yaml.ts';
import { syntaxWords } from './syntax-words.ts';
import type { YamlNode } from './yaml-node.ts';

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
  /** It never quotes a value, which may be a secret. */
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
