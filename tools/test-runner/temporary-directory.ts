import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Before the run replaces it by one of these. */
const SYSTEM = tmpdir();
const MEMORY = '/dev/shm';
/** A whole run has at most half of it at a time. */
const ENOUGH_BYTES = 4 * 1024 ** 3;

/**
 * Creates a directory for what tests write: in memory if there is enough of it, because the stores of tests wait for
 * the disk some ten thousand times. Tests that lose a disk bring one.
 */
export function makeTemporaryDirectory(prefix: string, { isOnDisk }: { readonly isOnDisk: boolean }): string {
  const path = (isOnDisk ? null : inMemory(prefix)) ?? openToAll(mkdtempSync(join(SYSTEM, prefix)));
  process.once('exit', () => rmSync(path, { recursive: true, force: true }));
  return path;
}

function inMemory(prefix: string): string | null {
  let path: string | undefined;
  try {
    removeAbandoned();
    const { bavail, bsize } = statfsSync(MEMORY);
    if (Math.min(bavail * bsize, process.availableMemory()) < ENOUGH_BYTES) return null;
    path = openToAll(mkdtempSync(join(MEMORY, `${prefix}${process.pid}-`)));
    // Tests run programs that they write, which some machines refuse there.
    const program = join(path, 'program');
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o700 });
    const { status } = spawnSync(program);
    rmSync(program);
    if (status === 0) return path;
  } catch {
    // No such place on this system.
  }
  if (path !== undefined) rmSync(path, { recursive: true, force: true });
  return null;
}

/** What a killed run left would fill the memory. */
function removeAbandoned(): void {
  for (const name of readdirSync(MEMORY)) {
    const pid = /^postern-(?:run|shared)-(\d+)-/.exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) rmSync(join(MEMORY, name), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Databases run as another user, who must be able to traverse it and to delete its own directory: like /tmp itself. */
function openToAll(path: string): string {
  chmodSync(path, 0o1777);
  return path;
}
