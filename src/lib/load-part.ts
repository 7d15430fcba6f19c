import { errorTable } from './errors.ts';

export const partErrors = errorTable({
  ERR_POSTERN_PROGRAM_REPLACED: {
    status: 503,
    explanation:
      'A part of the program, which is loaded when it is first needed, is no longer on disk: the program was upgraded or removed while it runs. Restart the server: `postern restart` replaces it without failing a request.',
  },
});

/**
 * Loads a part of the program that most servers never need: `loadPart(() => import('./part.ts'))`. A failure belongs to
 * the caller, and the next call tries again. In the package, the names of such files change with their content, so a part
 * of another version is never loaded instead.
 */
export async function loadPart<Part>(load: () => Promise<Part>): Promise<Part> {
  try {
    return await load();
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    throw partErrors.create(
      'ERR_POSTERN_PROGRAM_REPLACED',
      'a part of the program is no longer on disk, because it was upgraded or removed while it runs: restart it (postern restart)',
      { cause },
    );
  }
}
