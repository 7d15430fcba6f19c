import { existsSync, readFileSync } from 'node:fs';
import { getAsset, getAssetKeys, isSea } from 'node:sea';
import { Worker, type WorkerOptions } from 'node:worker_threads';

/**
 * `src/` in a checkout, `dist/` in the package: both have the same folders. This file stays one folder below, like the
 * files of a bundle (tools/binary/bundle.ts).
 */
const PROGRAM_URL = new URL('../', import.meta.url);
const CODE_EXTENSION = import.meta.url.endsWith('.ts') ? 'ts' : 'js';

/**
 * Text of a file that is part of the program: on disk beside the code, or embedded in the single executable. `path` is
 * relative to `src`: `app/settings/defaults.yaml`. `tools/program-assets.ts` lists what is embedded.
 */
export function readProgramFile(path: string): string {
  return isSea() ? getAsset(path, 'utf8') : readFileSync(new URL(path, PROGRAM_URL), 'utf8');
}

/** The same as bytes; null when there is no such file. */
export function readProgramBytes(path: string): Buffer | null {
  if (isSea()) return getAssetKeys().includes(path) ? Buffer.from(getAsset(path)) : null;
  const file = new URL(path, PROGRAM_URL);
  return existsSync(file) ? readFileSync(file) : null;
}

/** Starts a thread on one of our own files, named like `store/sqlite/worker`. */
export function startProgramWorker(path: string, options: WorkerOptions): Worker {
  if (!isSea()) return new Worker(new URL(`${path}.${CODE_EXTENSION}`, PROGRAM_URL), options);
  // As text, not as a data: URL, which every stack trace would repeat.
  return new Worker(getAsset(`${path}.js`, 'utf8'), { ...options, eval: true });
}
