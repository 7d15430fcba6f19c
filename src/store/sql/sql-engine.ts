import type { History } from '../history.ts';
import type { StoreSharing } from '../store.ts';
import type { StoreHealthMonitor } from '../store-health.ts';
import type { Program } from './statement.ts';

/** Programs by name. Each file with rows declares its own, so that it can also have the store that calls them. */
export type ProgramTable = Readonly<Record<string, (...args: never[]) => Program<unknown>>>;

export type ResultOf<Run> = Run extends (...args: never[]) => Program<infer Result> ? Result : never;

/** The part of the store that a database implements; `createSqlStore` adds the rest. */
export interface SqlEngine<Programs extends ProgramTable> {
  readonly name: 'sqlite' | 'postgres';
  readonly history: History;
  readonly monitor: StoreHealthMonitor;
  readonly sharing: StoreSharing;
  /** One consistent view per call. Never waits for a writer. */
  read<Name extends keyof Programs>(name: Name, ...args: Parameters<Programs[Name]>): Promise<ResultOf<Programs[Name]>>;
  /**
   * The same for data kept in memory: rejected when the database lacks what this process has seen, and this view counts
   * as seen from now on.
   */
  readProven<Name extends keyof Programs>(
    name: Name,
    ...args: Parameters<Programs[Name]>
  ): Promise<ResultOf<Programs[Name]>>;
  /** Durable when it resolves. Shares its transaction with concurrent writes. */
  write<Name extends keyof Programs>(
    name: Name,
    ...args: Parameters<Programs[Name]>
  ): Promise<ResultOf<Programs[Name]>>;
  /**
   * Like a write, but never behind one, and decided within about a second: with PostgreSQL on a connection that no
   * other work uses. Not under the writers' lock, and without a commit of the store's history: for renewals of rows
   * that only this process writes.
   */
  writeUrgently<Name extends keyof Programs>(
    name: Name,
    ...args: Parameters<Programs[Name]>
  ): Promise<ResultOf<Programs[Name]>>;
  /** Several reads in one view. */
  withView<Result>(use: (read: SqlEngine<Programs>['read']) => Promise<Result>): Promise<Result>;
  /** Another process may have committed. Not called for known writes through this engine. */
  onForeignCommit(listener: () => void): void;
  /** Another process has changed logins. May be lost: followers also poll. */
  onForeignLogins(listener: () => void): () => void;
  /** The lowest revision applied by any follower; the poll compares the store's revision with it. */
  compareWith(applied: () => number): void;
  commitCount(): number;
  close(): Promise<void>;
}
