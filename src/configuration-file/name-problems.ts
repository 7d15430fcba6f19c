import type { FileObject } from './file-object.ts';
import type { FileProblem } from './file-problem.ts';
import { quoted } from './file-problem.ts';
import { baseName, isNumbered, keyFieldOf, nameObjects, namingField } from './object-names.ts';

/**
 * Keys that the server would not find again: an object without a value of its own, such as a host name, is known by its
 * name, which follows from a field.
 */
export function nameProblems(objects: readonly FileObject[]): readonly FileProblem[] {
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
    const problem = name === object.name ? null : problemWith(object, base, name, keys);
    return problem === null ? [] : [{ file: object.file, line: object.line, problem }];
  });
}

function problemWith(
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
