import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, sep } from 'node:path';
import { failureCode } from '../../../kit/error-text.ts';

/** As much as the API accepts in a body. */
const MAX_BYTES = 262_144;

export interface FilePair {
  readonly certificatePem: string;
  readonly privateKeyPem: string;
}

export type FileReading =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly message: string };

/**
 * Reads a file below one of the allowed directories. Symbolic links are resolved before the comparison, and the opened
 * file is the resolved one. Messages name no content and no path that the caller did not send.
 */
export function readAllowedFile(path: string, directories: readonly string[]): FileReading {
  if (directories.length === 0)
    return refuse(
      'is not allowed: list its directory in the setting certificate_file_dirs (POSTERN_CERTIFICATE_FILE_DIRS)',
    );
  if (!isAbsolute(path)) return refuse('must be an absolute path');
  const allowed = directories.map(realPathOf);
  const isBelow = (real: string): boolean => allowed.some((each) => real.startsWith(`${each}${sep}`));
  try {
    const real = realpathSync(path);
    if (!isBelow(real)) return refuse(OUTSIDE);
    // A pipe would block without the flag, and a link that was put there meanwhile is not followed.
    const file = openSync(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    try {
      const stats = fstatSync(file);
      if (!stats.isFile()) return refuse('is not a regular file');
      if (stats.size > MAX_BYTES) return refuse(`is larger than ${MAX_BYTES} bytes`);
      return { ok: true, text: readFileSync(file, 'utf8') };
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (!isBelow(placeOf(path))) return refuse(OUTSIDE);
    const code = failureCode(error);
    return refuse(`cannot be read (${code}): check that it exists and that the user of the server may read it`);
  }
}

/** No path contains it. */
const NOWHERE = '\0';

/** The same words for a path outside and for one that does not exist: a key must not explore the disk of the server. */
const OUTSIDE =
  'is not a file below the directories in the setting certificate_file_dirs, after symbolic links are resolved: check the path, and that the user of the server may read it';

/** Where a file that cannot be opened would be; a link may lead anywhere. */
function placeOf(path: string): string {
  try {
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true) return NOWHERE;
  } catch {
    return NOWHERE;
  }
  return join(realPathOf(dirname(path)), basename(path));
}

/** A directory that does not exist allows nothing. */
function realPathOf(directory: string): string {
  try {
    return realpathSync(directory);
  } catch {
    return NOWHERE;
  }
}

function refuse(message: string): FileReading {
  return { ok: false, message };
}
