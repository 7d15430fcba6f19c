import { constants } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MAX_FILE_BYTES } from '../../configuration-file/format.ts';
import type { ConfigurationText } from '../../configuration-file/read-configuration.ts';
import { whyUnreadable } from '../../lib/error-text.ts';
import { usage } from '../../lib/flags.ts';
import { gatherBounded, readBounded } from '../../lib/read-bounded.ts';
import { createTextSource } from '../api/text-source.ts';

const SUFFIX = /\.ya?ml$/;
const STANDARD_INPUT = '-';

/** The texts of files and of the YAML files in directories; `-` is standard input, and pipes of a shell are read. */
export function readFiles(paths: readonly string[]): Promise<readonly ConfigurationText[]> {
  return textsAt(paths, textOf);
}

/** A file that is not changed for so long was written whole. */
const STILL_MS = 1_000;
const MAX_WAIT_MS = 60_000;

/**
 * Without standard input, pipes and devices, which may have no end: for a server that nobody watches. It waits until nobody
 * writes the files: half of a file may lack the rules that protect a site.
 */
export async function readWrittenFiles(paths: readonly string[]): Promise<readonly ConfigurationText[]> {
  for (let waited = 0; waited <= MAX_WAIT_MS; waited += STILL_MS) {
    const before = await writtenAt(paths);
    const ageMs = Date.now() - before.latestMs;
    // A time in the future says nothing.
    if (ageMs < STILL_MS) await sleep(Math.min(STILL_MS, STILL_MS - ageMs));
    const texts = await textsAt(paths, regularText);
    if ((await writtenAt(paths)).text === before.text) return texts;
  }
  throw usage(`${paths.join(', ')} changes again and again: write the file whole, and rename it into place`);
}

/** What changes with every write to the files. A file that was renamed into place keeps the time of its last write. */
async function writtenAt(paths: readonly string[]): Promise<{ readonly text: string; readonly latestMs: number }> {
  const files: string[] = [];
  for (const path of paths) files.push(...(await filesAt(path)));
  const found = await Promise.all(files.map(statOf));
  const text = JSON.stringify(found.map(({ ino, size, mtimeMs }, at) => [files[at], ino, size, mtimeMs]));
  return { text, latestMs: Math.max(...found.map(({ mtimeMs }) => mtimeMs)) };
}

async function textsAt(
  paths: readonly string[],
  read: (path: string) => Promise<string>,
): Promise<readonly ConfigurationText[]> {
  if (paths.length === 0) throw usage('name at least one file: -f postern-sites.yaml');
  const files: string[] = [];
  for (const path of paths) files.push(...(await filesAt(path)));
  const unique = [...new Set(files)];
  return Promise.all(unique.map(async (name) => ({ name, text: await read(name) })));
}

async function filesAt(path: string): Promise<readonly string[]> {
  if (path === STANDARD_INPUT || !(await statOf(path)).isDirectory()) return [path];
  const names = (await readdir(path)).filter((name) => SUFFIX.test(name) && !name.startsWith('.')).sort();
  if (names.length === 0) throw usage(`the directory ${path} has no file with the suffix .yaml or .yml`);
  return names.map((name) => join(path, name));
}

async function textOf(path: string): Promise<string> {
  if (path === STANDARD_INPUT) return createTextSource().read(path, 'file');
  return decoded(path, await readBounded(path, MAX_FILE_BYTES).catch((cause: unknown) => unreadable(path, cause)));
}

async function regularText(path: string): Promise<string> {
  // Not blocking: otherwise the open of a pipe waits for a writer.
  const flags = constants.O_RDONLY | constants.O_NONBLOCK;
  await using file = await open(path, flags).catch((cause: unknown) => unreadable(path, cause));
  if (!(await file.stat()).isFile()) throw usage(`${path} is not a regular file`);
  const bytes = gatherBounded(file.createReadStream({ autoClose: false }), MAX_FILE_BYTES);
  return decoded(path, await bytes.catch((cause: unknown) => unreadable(path, cause)));
}

function decoded(path: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw usage(`${path} is not a text in UTF-8`);
  }
}

function statOf(path: string) {
  return stat(path).catch((cause: unknown) => unreadable(path, cause));
}

function unreadable(path: string, cause: unknown): never {
  throw usage(`cannot read ${path}: ${whyUnreadable(cause)}`);
}
