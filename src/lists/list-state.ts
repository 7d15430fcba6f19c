/** What is known about a list, for people. */
export interface ListState {
  /** `current`: loaded, and its source was fine when it was last read. `stale`: an earlier table is used. `missing`: there is none. */
  readonly status: 'current' | 'stale' | 'missing';
  readonly entries: number;
  readonly skippedLines: number;
  /** When the entries in use were read. */
  readonly loadedAtMs: number | null;
  /** When the source was last read without a problem. */
  readonly checkedAtMs: number | null;
  /** Why the last attempt failed; null if it succeeded. */
  readonly error: string | null;
}
