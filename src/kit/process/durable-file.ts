import { constants, existsSync, mkdirSync, statSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/** Parts are written one after the other. */
type FileContent = string | Uint8Array | Iterable<Uint8Array>;

/**
 * Writes the file atomically: after a crash the old or the new version exists, complete, and never a readable secret.
 */
export async function writeDurably(path: string, content: FileContent, mode: number): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  // A leftover of a crash with the same process id could have another mode: it must not be reused.
  await rm(temporary, { force: true });
  try {
    await writeSynced(temporary, content, mode);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncDirectory(dirname(path));
}

async function writeSynced(path: string, content: FileContent, mode: number): Promise<void> {
  const file = await open(path, 'wx', mode);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** A new name is durable only after its directory is synced. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, constants.O_RDONLY);
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/**
 * Makes a directory with those above it that are missing. One by one: with `recursive`, Node loops forever below a
 * directory that refuses, such as /proc.
 */
export function makeDirectories(path: string, mode: number): void {
  const whole = resolve(path);
  const missing: string[] = [];
  for (let each = whole; !existsSync(each) && dirname(each) !== each; each = dirname(each)) missing.push(each);
  for (const each of missing.length === 0 ? [whole] : missing.reverse()) makeOne(each, mode);
}

/** Another process may make it meanwhile. */
function makeOne(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    const isThere = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
    if (!isThere) throw error;
  }
}
