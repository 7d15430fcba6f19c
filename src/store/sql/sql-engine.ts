import type { History } from '../history.ts';
import type { StoreHealthMonitor } from '../store-health.ts';
import type { ProgramArgs, ProgramName, ProgramResult } from './programs.ts';

/** What a database brings to the store; `createSqlStore` makes the rest of it. */
export interface SqlEngine {
  readonly name: 'sqlite' | 'postgres';
  readonly history: History;
  readonly monitor: StoreHealthMonitor;
  /** One consistent view for each call. Never waits for a writer. */
  read<Name extends ProgramName>(name: Name, ...args: ProgramArgs<Name>): Promise<ProgramResult<Name>>;
  /**
   * The same for what is kept in memory: refused when the database does not have what this process has seen of it, and this
   * view counts as seen from now on.
   */
  readProven<Name extends ProgramName>(name: Name, ...args: ProgramArgs<Name>): Promise<ProgramResult<Name>>;
  /** Durable when it resolves. Shares its transaction with the writes that wait beside it. */
  write<Name extends ProgramName>(name: Name, ...args: ProgramArgs<Name>): Promise<ProgramResult<Name>>;
  /** Several reads in one view. */
  withView<Result>(use: (read: SqlEngine['read']) => Promise<Result>): Promise<Result>;
  /** Another process may have committed. Never called for what was written through this engine, as far as that is known. */
  onForeignCommit(listener: () => void): void;
  /** The lowest revision that a follower has applied; the poll compares the store's with it. */
  compareWith(applied: () => number): void;
  commitCount(): number;
  close(): Promise<void>;
}
