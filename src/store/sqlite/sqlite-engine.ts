import { createGroupCommit, type JobOutcome } from '../group-commit.ts';
import type { ProgramArgs, ProgramName, ProgramResult } from '../sql/programs.ts';
import type { SqlEngine } from '../sql/sql-engine.ts';
import { outcomeFromWire, type WireOutcome } from './worker-protocol.ts';
import { WorkerThread } from './worker-thread.ts';

export interface SqliteEngineOptions {
  readonly path: string;
  readonly maxPages?: number | undefined;
  readonly onClosed: () => void;
}

/** Two threads on one WAL database: a read never waits behind an fsync. */
export function createSqliteEngine({ path, maxPages, onClosed }: SqliteEngineOptions): SqlEngine {
  const writer = new WorkerThread({ path, access: 'write', maxPages });
  const reader = new WorkerThread({ path, access: 'read', maxPages: undefined });
  const group = createGroupCommit(async (jobs): Promise<JobOutcome[]> => {
    const outcomes = (await writer.request({ do: 'group', jobs })) as WireOutcome[];
    return outcomes.map(outcomeFromWire);
  });
  let lastView = 0;
  let closing: Promise<void> | null = null;

  async function readIn<Name extends ProgramName>(view: number | null, name: Name, args: ProgramArgs<Name>) {
    return (await reader.request({ do: 'read', job: { name, args }, view })) as ProgramResult<Name>;
  }

  async function close(): Promise<void> {
    await group.close();
    await Promise.all([writer.close(), reader.close()]);
    onClosed();
  }

  return {
    name: 'sqlite',
    read: (name, ...args) => readIn(null, name, args),
    write: async <Name extends ProgramName>(name: Name, ...args: ProgramArgs<Name>) =>
      (await group.submit({ name, args })) as ProgramResult<Name>,
    withView: async (use) => {
      lastView += 1;
      const view = lastView;
      await reader.request({ do: 'open_view', view });
      try {
        return await use((name, ...args) => readIn(view, name, args));
      } finally {
        await reader.request({ do: 'close_view', view });
      }
    },
    // One process has the data directory, so nobody else writes.
    onForeignCommit: () => {},
    compareWith: () => {},
    commitCount: () => group.commitCount(),
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}
