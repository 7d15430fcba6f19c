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
