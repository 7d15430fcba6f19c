import type { Dialect } from '../sql/schema/schema.ts';
import type { Program } from '../sql/statements/statement.ts';

/** A database as the commands use it: programs in transactions, without a store around them. */
export interface OfflineDatabase {
  readonly dialect: Dialect;
  /** `read` sees one consistent view; `write` excludes all other writers until it is done. */
  transaction<Result>(mode: 'read' | 'write', use: (run: RunProgram) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

export type RunProgram = <Result>(program: Program<Result>) => Promise<Result>;
