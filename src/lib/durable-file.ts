import { constants } from 'node:fs';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Writes the file so that after a crash there is the old one or the new one, whole, and never a readable secret. */
export async function writeDurably(path: string, text: string, mode: number): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  // A left-over of a crash with the same process id could have another mode: it must not be reused.
  await rm(temporary, { force: true });
  await writeSynced(temporary, text, mode);
  await rename(temporary, path);
  await syncDirectory(dirname(path));
}

/** Creates a directory with all its files at once; `false` when the directory was already there. */
export async function createDirectoryDurably(
  path: string,
  files: Readonly<Record<string, { readonly text: string; readonly mode: number }>>,
): Promise<boolean> {
  const temporary = `${path}.${process.pid}.tmp`;
  await rm(temporary, { recursive: true, force: true });
  await mkdir(temporary, { mode: 0o700 });
  for (const [name, { text, mode }] of Object.entries(files)) await writeSynced(join(temporary, name), text, mode);
  await syncDirectory(temporary);
  try {
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    if (isCode(error, 'ENOTEMPTY') || isCode(error, 'EEXIST')) return false;
    throw error;
  }
  await syncDirectory(dirname(path));
  return true;
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

async function writeSynced(path: string, text: string, mode: number): Promise<void> {
  const file = await open(path, 'wx', mode);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** A new name is durable only once its directory is. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, constants.O_RDONLY);
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
