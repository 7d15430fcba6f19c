/** A table that a list was made into. */
export interface BuiltTable {
  readonly table: SharedArrayBuffer;
  readonly entries: number;
  readonly skippedLines: number;
}

export type ListFormat = 'plain' | 'mmdb';

/** What the thread that builds tables is asked, and what it answers. Problems are messages for the operator. */
export interface BuildJob {
  readonly format: ListFormat;
  /** The bytes of the list, in order. */
  readonly chunks: readonly Uint8Array[];
}

export type BuildAnswer = BuiltTable | { readonly problem: string };
