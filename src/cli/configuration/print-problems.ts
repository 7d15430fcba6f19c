import type { FileProblem } from '../../configuration-file/file-problem.ts';
import { printable } from '../api/cell-text.ts';
import type { CommandContext } from '../command.ts';

const MAX_SHOWN = 100;

/** One line for each problem, as compilers print them. */
export function printProblems(problems: readonly FileProblem[], context: CommandContext): void {
  for (const { file, line, problem } of problems.slice(0, MAX_SHOWN)) {
    context.warn(printable(`${file}:${line}: ${problem}`));
  }
  if (problems.length > MAX_SHOWN) context.warn(`postern: ${problems.length - MAX_SHOWN} more problems are not shown`);
}
