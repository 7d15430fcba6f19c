import type { FileObject } from './file-object.ts';
import type { FileProblem } from './file-problem.ts';
import { quoted } from './file-problem.ts';

/** Values that only one object may have, such as the host of an edge. */
export function uniquenessProblems(objects: readonly FileObject[]): readonly FileProblem[] {
  const holders = new Map<string, FileObject>();
  const problems: FileProblem[] = [];
  const visit = (object: FileObject, parent: string | null): void => {
    const { kind, config, id } = object;
    for (const { scope, key } of kind.resource.uniqueKeys?.(config as never, { id, parent }, {}) ?? []) {
      const claimed = `${scope}\0${key}`;
      const holder = holders.get(claimed);
      if (holder === undefined) holders.set(claimed, object);
      else if (holder !== object) problems.push(problemWith(object, holder, key));
    }
    for (const child of object.children) visit(child, id);
  };
  for (const object of objects) visit(object, null);
  return problems;
}

function problemWith({ file, line, name }: FileObject, holder: FileObject, key: string): FileProblem {
  const value = key.split('\n').at(-1) ?? key;
  return {
    file,
    line,
    problem: `${quoted(name)} has ${quoted(value)}, which ${quoted(holder.name)} in ${holder.file}, line ${holder.line}, has as well: remove it from one of them`,
  };
}
