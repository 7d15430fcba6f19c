import { didYouMean } from '../../kit/text/near-match.ts';
import type { YamlEntry, YamlMap } from '../../kit/text/yaml/plain-yaml.ts';
import { readYaml } from '../../kit/text/yaml/read-yaml.ts';
import { type FileObject, type MissingName, NameIndex, type PlacedEntry, StandInIds } from './file-object.ts';
import { type FileProblem, FORMAT_VERSION, MAX_FILE_BYTES, MAX_OBJECTS, OWNER_PATTERN, quoted } from './format.ts';
import { baseName, isNumbered, keyFieldOf, nameObjects, namingField } from './object-names.ts';
import { ObjectReader } from './object-reader.ts';
import { type Section, sections } from './sections.ts';

export interface ConfigurationText {
  readonly name: string;
  readonly text: string;
}

export interface Configuration {
  readonly owner: string | null;
  /** In the order of the files. */
  readonly objects: readonly FileObject[];
  readonly missing: readonly MissingName[];
  readonly problems: readonly FileProblem[];
}

const KNOWN_KEYS = ['version', 'owner', ...sections.map(({ key }) => key)];

/** Reads files as one configuration. All problems are collected; objects with a problem are left out. */
export function readConfiguration(files: readonly ConfigurationText[]): Configuration {
  const problems: FileProblem[] = [];
  const roots = files.flatMap(({ name, text }) => {
    const { root, problems: found } = readFileText(name, text);
    problems.push(...found);
    if (root === null) {
      if (found.length === 0)
        problems.push({ file: name, line: 1, problem: `is empty: start it with "version: ${FORMAT_VERSION}"` });
      return [];
    }
    return [{ file: name, root }];
  });
  const owner = readHeads(roots, problems);
  const index = new NameIndex(new StandInIds());
  const entries = roots.flatMap(({ file, root }) =>
    sections.flatMap((section) => entriesOf(section, file, root, index, problems)),
  );
  if (entries.length > MAX_OBJECTS) {
    const problem = `has ${entries.length} objects with the other files, and one change has at most ${MAX_OBJECTS}: use files with different owners, one after the other`;
    return { owner, objects: [], missing: [], problems: [{ file: files[0]?.name ?? '', line: 1, problem }] };
  }
  const reader = new ObjectReader(index, problems);
  const objects = entries.flatMap((entry) => reader.read(entry) ?? []);
  problems.push(...uniquenessProblems(objects), ...nameProblems(objects));
  return { owner, objects, missing: index.missing(), problems: sorted(problems, files) };
}

/** Checks `version`, `owner` and the other keys of each file. */
function readHeads(
  roots: readonly { readonly file: string; readonly root: YamlMap }[],
  problems: FileProblem[],
): string | null {
  let owner: string | null = null;
  for (const { file, root } of roots) {
    const problem = (line: number, text: string): number => problems.push({ file, line, problem: text });
    for (const [key, { line }] of root.entries) {
      if (KNOWN_KEYS.includes(key)) continue;
      const advice = `${didYouMean(key, KNOWN_KEYS)} Known keys: ${KNOWN_KEYS.join(', ')}`;
      problem(line, `${quoted(key)} is not a known key.${advice}`);
    }
    const version = scalarAt(root.entries.get('version'));
    if (version === undefined)
      problem(root.line, `"version" is missing: start the file with "version: ${FORMAT_VERSION}"`);
    else if (version.value !== FORMAT_VERSION) {
      problem(version.line, `"version" must be ${FORMAT_VERSION}: this program reads no other version of the format`);
    }
    const given = root.entries.get('owner');
    if (given === undefined) continue;
    const { value, line } = scalarAt(given) ?? { value: null, line: given.line };
    if (typeof value !== 'string' || !new RegExp(OWNER_PATTERN).test(value)) {
      problem(
        line,
        '"owner" must be 1 to 64 letters, digits, dots, hyphens and underscores, and start with a letter or digit',
      );
    } else if (owner !== null && owner !== value) {
      problem(line, `"owner" is ${quoted(value)} here and ${quoted(owner)} in another file: use one owner`);
    } else owner = value;
  }
  return owner;
}

function scalarAt(entry: YamlEntry | undefined): { readonly value: unknown; readonly line: number } | undefined {
  if (entry === undefined) return undefined;
  return { value: entry.node.type === 'scalar' ? entry.node.value : null, line: entry.line };
}

/** The objects of a section, known by name before any of them is read: they may refer to each other. */
function entriesOf(
  section: Section,
  file: string,
  root: YamlMap,
  index: NameIndex,
  problems: FileProblem[],
): readonly PlacedEntry[] {
  const entry = root.entries.get(section.key);
  if (entry === undefined || (entry.node.type === 'scalar' && entry.node.value === null)) return [];
  if (entry.node.type !== 'map') {
    const problem = `"${section.key}" must be a map with a name for each object, as in "${section.key}: {my-name: {…}}"`;
    problems.push({ file, line: entry.line, problem });
    return [];
  }
  return [...entry.node.entries].flatMap(([name, inner]) => {
    const added = index.add(section, name, { file, entry: inner });
    if (!('problem' in added)) return [added];
    problems.push(added);
    return [];
  });
}

function sorted(problems: readonly FileProblem[], files: readonly ConfigurationText[]): readonly FileProblem[] {
  const order = new Map(files.map(({ name }, at) => [name, at]));
  return [...problems].sort((a, b) => (order.get(a.file) ?? 0) - (order.get(b.file) ?? 0) || a.line - b.line);
}

interface FileReading {
  /** Null when the text cannot be read, or has no content. */
  readonly root: YamlMap | null;
  readonly problems: readonly FileProblem[];
}

/** The map of a file. Aliases are rejected: a difference of two files must show all that differs. */
function readFileText(file: string, text: string): FileReading {
  const fail = (line: number, problem: string): FileReading => ({ root: null, problems: [{ file, line, problem }] });
  if (text.length > MAX_FILE_BYTES) {
    return fail(1, `is larger than ${MAX_FILE_BYTES / 1024 / 1024} MiB: divide it into several files`);
  }
  const { root, problems } = readYaml(text, { hasAliases: false });
  if (root !== null && root.type !== 'map') return fail(root.line, 'must be a map: start it with "version: 1"');
  return { root, problems: problems.map(({ line, problem }) => ({ file, line, problem })) };
}

/**
 * Keys that the server would not find again: an object without a value of its own, such as a host name, is known by its
 * name, which follows from a field.
 */
function nameProblems(objects: readonly FileObject[]): readonly FileProblem[] {
  const bySection = Map.groupBy(objects, ({ kind }) => kind.resource.listKey);
  return [...bySection.values()].flatMap((members) => [
    ...problemsAmong(members.filter(({ kind }) => kind.resource.uniqueKeys === undefined)),
    ...members.flatMap(({ children }) => nameProblems(children)),
  ]);
}

function problemsAmong(objects: readonly FileObject[]): readonly FileProblem[] {
  const keys = new Set(objects.map(({ name }) => name));
  const named = nameObjects(
    objects.map((object) => ({ kind: object.kind, id: object.id, config: object.config, of: object })),
  );
  return [...named].flatMap(([name, { of: object }]) => {
    const base = baseName(object.kind, object.config);
    const problem = name === object.name ? null : namingProblem(object, base, name, keys);
    return problem === null ? [] : [{ file: object.file, line: object.line, problem }];
  });
}

function namingProblem(
  { kind, name, config }: FileObject,
  base: string,
  expected: string,
  keys: ReadonlySet<string>,
): string | null {
  const field = namingField(kind, config);
  if (!isNumbered(name, base)) {
    const way = field === keyFieldOf(kind) ? 'remove the field' : 'remove its empty description';
    return `${quoted(name)} has the ${field} ${quoted(base)}: objects are known by it, so write ${quoted(base)} as the key, or ${way}`;
  }
  // The others may be on the server.
  if (!keys.has(base)) return null;
  return `${quoted(name)} is one of several with the ${field} ${quoted(base)}, and its key must be ${quoted(expected)}: number them in the order of the file`;
}

/** Values that only one object may have, such as the host of an edge. */
function uniquenessProblems(objects: readonly FileObject[]): readonly FileProblem[] {
  const holders = new Map<string, FileObject>();
  const problems: FileProblem[] = [];
  const visit = (object: FileObject, parent: string | null): void => {
    const { kind, config, id } = object;
    for (const { scope, key } of kind.resource.uniqueKeys?.(config as never, { id, parent }, {}) ?? []) {
      const claimed = `${scope}\0${key}`;
      const holder = holders.get(claimed);
      if (holder === undefined) holders.set(claimed, object);
      else if (holder !== object) problems.push(takenProblem(object, holder, key));
    }
    for (const child of object.children) visit(child, id);
  };
  for (const object of objects) visit(object, null);
  return problems;
}

function takenProblem({ file, line, name }: FileObject, holder: FileObject, key: string): FileProblem {
  const value = key.split('\n').at(-1) ?? key;
  return {
    file,
    line,
    problem: `${quoted(name)} has ${quoted(value)}, which ${quoted(holder.name)} in ${holder.file}, line ${holder.line}, has as well: remove it from one of them`,
  };
}

interface ValidateOptions {
  /** Names that no file has may exist on the server. */
  readonly isPartial?: boolean;
}

/** The problems of files that can be found without a server, in the order of their lines. */
export function validateConfiguration(
  files: readonly ConfigurationText[],
  { isPartial = false }: ValidateOptions = {},
): readonly FileProblem[] {
  const { problems, missing } = readConfiguration(files);
  if (isPartial) return problems;
  const unresolved = missing.map(({ file, line, problem }) => ({ file, line, problem }));
  const order = new Map(files.map(({ name }, at) => [name, at]));
  return [...problems, ...unresolved].sort(
    (a, b) => (order.get(a.file) ?? 0) - (order.get(b.file) ?? 0) || a.line - b.line,
  );
}
