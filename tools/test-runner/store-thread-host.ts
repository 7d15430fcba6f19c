import fs from 'node:fs';
import { createRequire } from 'node:module';
import { DatabaseSync } from 'node:sqlite';
import { compileFunction } from 'node:vm';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { Ended, Started } from './store-threads.ts';

/** What a program has open, which the end of its own thread would close. */
class OpenedByProgram {
  readonly databases = new Set<DatabaseSync>();
  readonly files = new Set<number>();

  close(): void {
    for (const database of this.databases) if (database.isOpen) database.close();
    for (const file of this.files) fs.closeSync(file);
  }
}

/** The program in `store-threads.ts`: `workerData` is the path of the script. */
const script = workerData as string;
const require = createRequire(script);
const run = compileFunction(fs.readFileSync(script, 'utf8'), ['require', 'module', 'exports'], { filename: script });
const hosted = new Map<number, OpenedByProgram>();

parentPort?.on('message', (asked: Started | number) => {
  if (typeof asked === 'number') end(asked, null);
  else start(asked);
});

function start({ id, port, workerData: data }: Started): void {
  const opened = new OpenedByProgram();
  hosted.set(id, opened);
  const module = { exports: {} };
  try {
    run(requireOf(opened, port, data), module, module.exports);
  } catch (error) {
    const { message, stack } = error as Error;
    // As a thread does: own fields arrive, and the class does not.
    end(id, { ...Object.fromEntries(Object.entries(error as Error)), cause: undefined, message, stack });
  }
}

function end(id: number, error: Ended['error']): void {
  const opened = hosted.get(id);
  if (opened === undefined) return;
  hosted.delete(id);
  opened.close();
  parentPort?.postMessage({ id, error } satisfies Ended);
}

function requireOf(opened: OpenedByProgram, port: MessagePort, data: unknown): (name: string) => unknown {
  const own = new Map<string, unknown>([
    ['node:worker_threads', { parentPort: port, workerData: data }],
    ['node:sqlite', { DatabaseSync: databaseIn(opened) }],
    ['node:fs', filesIn(opened)],
  ]);
  return (name) => own.get(name) ?? require(name);
}

function databaseIn({ databases }: OpenedByProgram): typeof DatabaseSync {
  return class extends DatabaseSync {
    constructor(...args: ConstructorParameters<typeof DatabaseSync>) {
      super(...args);
      databases.add(this);
    }

    override close(): void {
      super.close();
      databases.delete(this);
    }
  };
}

function filesIn({ files }: OpenedByProgram): typeof fs {
  const own: Pick<typeof fs, 'openSync' | 'closeSync'> = {
    openSync: (...args) => {
      const file = fs.openSync(...args);
      files.add(file);
      return file;
    },
    closeSync: (file) => {
      fs.closeSync(file);
      files.delete(file);
    },
  };
  return Object.assign(Object.create(fs) as typeof fs, own);
}
