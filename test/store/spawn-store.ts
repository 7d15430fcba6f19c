import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface, type Interface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { StoreLocation } from '../../src/store/offline-database.ts';
import type { CommitMark } from '../../src/store/store.ts';
import type { Cleanup } from '../support/cleanup.ts';

const SCRIPT = fileURLToPath(new URL('./store-process.ts', import.meta.url));

export interface StoreProcess {
  readonly child: ChildProcess;
  readonly lines: Interface;
  /** Every line so far. */
  readonly output: readonly string[];
  /** Resolves with the first line that starts with this; rejects when the process ends before. */
  line(start: string): Promise<string>;
  killed(): Promise<void>;
}

/** Another process on the same store, killed at the end of the test at the latest. */
export function spawnStore(
  t: Cleanup,
  location: StoreLocation,
  mode: 'hold' | 'write' | 'take-over',
  mark: CommitMark | null = null,
): StoreProcess {
  const child = spawn(process.execPath, [SCRIPT, JSON.stringify(location), mode, JSON.stringify(mark)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = new Promise<void>((settle) => child.once('exit', () => settle()));
  const lines = createInterface({ input: child.stdout });
  const closed = new Promise<void>((settle) => lines.once('close', settle));
  const output: string[] = [];
  lines.on('line', (line) => output.push(line));
  const killed = async () => {
    child.kill('SIGKILL');
    await Promise.all([exited, closed]);
  };
  t.after(killed);
  return {
    child,
    lines,
    output,
    killed,
    line: (start) =>
      new Promise((resolve, reject) => {
        const look = (line: string) => {
          if (line.startsWith(start)) resolve(line);
        };
        output.forEach(look);
        lines.on('line', look);
        lines.once('close', () => reject(new Error(`the process ended before it said ${start}: ${output.join('; ')}`)));
      }),
  };
}
