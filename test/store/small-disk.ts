import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

export const MOUNTING_REFUSED =
  '!! MOUNTING A TMPFS IS NOT ALLOWED HERE, so no disk was filled; for SQLite the limit on the size of files stands for it';

/** A file system of a few megabytes, or null where mounting is not allowed. */
export function mountSmallDisk(t: Pick<TestContext, 'after'>, megabytes: number): string | null {
  const path = mkdtempSync(join(tmpdir(), 'postern-disk-'));
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0755`, 'tmpfs', path]);
  if (status !== 0) {
    rmSync(path, { recursive: true });
    return null;
  }
  t.after(() => {
    // Lazily, because a file may still be open there.
    spawnSync('umount', ['-l', path]);
    rmSync(path, { recursive: true, force: true });
  });
  return path;
}
