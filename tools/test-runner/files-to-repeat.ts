import { join } from 'node:path';
import type { Outcome } from './run-files.ts';

/** More failing files than this, of some 500, are no accident of a busy machine. */
const MAX_REPEATED = 6;
/** Someone who runs a few files looks for a failure: it must show. */
const MIN_FILES = 100;

/** The files of a whole run that failed and may be run again, by their paths; none if anything else failed too. */
export function filesToRepeat({ failedFiles }: Outcome, files: readonly string[], root: string): readonly string[] {
  if (files.length < MIN_FILES || failedFiles.length > MAX_REPEATED) return [];
  const failed = failedFiles.map((name) => join(root, name));
  return failed.every((file) => files.includes(file)) ? failed : [];
}
