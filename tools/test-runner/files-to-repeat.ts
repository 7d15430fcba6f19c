import { dirname, relative } from 'node:path';
import type { Outcome } from './run-files.ts';

/** More failing files than this are no accident of a busy machine. */
const MAX_REPEATED = 3;
/** Someone who runs a few files looks for a failure: it must show. */
const MIN_FILES = 100;

/** The files of a whole run that failed and may be run again, by their paths; none if anything else failed too. */
export function filesToRepeat({ failures }: Outcome, files: readonly string[], root: string): readonly string[] {
  if (files.length < MIN_FILES) return [];
  const byName = new Map(files.map((file) => [relative(root, file), file]));
  const failed = failures.map((failure) => {
    const name = failure.slice(0, failure.indexOf(': '));
    const file = byName.get(name);
    // A test that several files of a folder share is reported with the file that contains it.
    return file === undefined ? files.filter((each) => relative(root, dirname(each)) === dirname(name)) : [file];
  });
  const known = [...new Set(failed.flat())];
  return failed.every(({ length }) => length > 0) && known.length <= MAX_REPEATED ? known : [];
}
