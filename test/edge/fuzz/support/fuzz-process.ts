import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { FuzzFigures, FuzzOptions } from './fuzz-run.ts';

const SELF = fileURLToPath(import.meta.url);

/**
 * Fuzzes in its own process, because Node's HTTP/2 has assertions that abort the process, and a leaked native request
 * keeps a process from exiting. Throws with its output when it fails.
 */
export async function fuzzInProcess(options: FuzzOptions): Promise<FuzzFigures> {
  const child = spawn(process.execPath, [SELF, JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
  let figures: FuzzFigures | null = null;
  child.on('message', (message) => {
    figures = message as FuzzFigures;
  });
  assert.ok(child.stdout !== null && child.stderr !== null);
  child.stdout.pipe(process.stdout);
  const [errors, [code, signal]] = await Promise.all([text(child.stderr), once(child, 'close')]);
  if (code !== 0 || figures === null) throw new Error(`the fuzzed process ended with ${code ?? signal}:\n${errors}`);
  return figures;
}

async function main(options: FuzzOptions): Promise<void> {
  // Here, so that the test's own process does not load the whole server.
  const { fuzz } = await import('./fuzz-run.ts');
  const tasks: (() => Promise<void>)[] = [];
  const figures = await fuzz({ after: (task) => tasks.unshift(task) }, options);
  for (const task of tasks) await task();
  process.send?.(figures, () => process.exit(0));
}

if (process.argv[1] === SELF) {
  main(JSON.parse(process.argv[2] ?? '{}') as FuzzOptions).catch((error: unknown) => {
    console.error(error);
    process.exit(1);
  });
}
