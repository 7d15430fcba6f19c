import { errorTable } from './errors.ts';

export const partErrors = errorTable({
  ERR_POSTERN_PROGRAM_REPLACED: {
    status: 503,
    explanation:
      'A part of the program, which is loaded when it is first needed, is no longer on disk: the program was upgraded or removed while it runs. Restart the server: `postern restart` replaces it without failing a request.',
  },
});

/**
 * Loads a part of the program that most servers never need: `loadPart(() => import(…))`. A failure belongs to
 * the caller, and the next call tries again. In the package, the names of such files change with their content, so a
 * part of another version is never loaded instead.
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

/**
 * A part of the program that is loaded only when something needs it. Code that cannot wait throws this, and `withParts`
 * waits and calls it again.
 */
export class MissingPart extends Error {
  readonly loaded: Promise<void>;

  constructor(loaded: Promise<void>) {
    super('a part of the program is not loaded yet');
    this.loaded = loaded;
  }
}

/** The task must have no effect before it needs the part. */
export async function withParts<Result>(task: () => Result | Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await task();
    } catch (error) {
      if (!(error instanceof MissingPart)) throw error;
      await error.loaded;
    }
  }
}
