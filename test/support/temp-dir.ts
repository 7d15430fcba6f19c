import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Cleanup } from './cleanup.ts';

/** A test's own directory, deleted with it. */
export async function tempDir(test: Cleanup): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'postern-test-'));
  // Again: a server that a later hook stops may still add a file meanwhile.
  test.after(() => rm(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }));
  return path;
}
