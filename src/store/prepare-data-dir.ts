import { access, constants, mkdir } from 'node:fs/promises';
import { failureCode } from '../lib/error-text.ts';
import { storeErrors } from './errors.ts';

const NOT_A_DIRECTORY: ReadonlySet<string> = new Set(['EEXIST', 'ENOTDIR']);

/** Creates the data directory for this user alone, or fails now if it is not writable. */
export async function prepareDataDir(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (cause) {
    const code = failureCode(cause, 'error');
    const why = NOT_A_DIRECTORY.has(code) ? 'it, or a part of its path, is a file and not a directory' : code;
    const message =
      code === 'EROFS'
        ? `cannot use the data directory ${path}: its file system is mounted read-only. A server that ran goes on, but none can start there. Mount it read-write after you have checked its disk`
        : `cannot use the data directory ${path} (${why}). Set another with data_dir (POSTERN_DATA_DIR)`;
    throw storeErrors.create('ERR_POSTERN_DATA_DIR', message, { cause });
  }
}
