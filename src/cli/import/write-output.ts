import { writeFile } from 'node:fs/promises';
import { failureCode, whyUnwritable } from '../../lib/error-text.ts';
import type { CommandContext } from '../command.ts';
import { importErrors } from './errors.ts';

/** Writes a new file, readable by its owner only; `-` prints it. An existing file stays, unless it is to be replaced. */
export async function writeOutput(
  path: string,
  text: string,
  { isForced, context }: { readonly isForced: boolean; readonly context: CommandContext },
): Promise<void> {
  if (path === '-') {
    context.print(text.trimEnd());
    return;
  }
  try {
    await writeFile(path, text, { flag: isForced ? 'w' : 'wx', mode: 0o600 });
  } catch (error) {
    const isThere = failureCode(error) === 'EEXIST';
    const message = isThere
      ? `${path} exists: name another file with --file, or replace it with --force`
      : `cannot write ${path}: ${whyUnwritable(error)}`;
    throw importErrors.create('ERR_POSTERN_IMPORT_OUTPUT', message);
  }
}
