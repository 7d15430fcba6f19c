import { didYouMean } from '../lib/text/near-match.ts';
import type { YamlEntry, YamlMap } from '../lib/text/yaml/yaml-node.ts';
import { type FileObject, type MissingName, StandInIds } from './file-object.ts';
import type { FileProblem } from './file-problem.ts';
import { quoted } from './file-problem.ts';
import { FORMAT_VERSION, MAX_OBJECTS, OWNER_PATTERN } from './format.ts';
import { NameIndex, type PlacedEntry } from './name-index.ts';
import { nameProblems } from './name-problems.ts';
import { ObjectReader } from './object-reader.ts';
import { readFileText } from './read-file-text.ts';
import { type Section, sections } from './sections.ts';
import { uniquenessProblems } from './uniqueness-problems.ts';

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
