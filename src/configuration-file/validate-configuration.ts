import type { FileProblem } from './file-problem.ts';
import { type ConfigurationText, readConfiguration } from './read-configuration.ts';

export interface ValidateOptions {
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
