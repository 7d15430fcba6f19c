import { constants } from 'node:fs';
import { open, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { MAX_FILE_BYTES } from '../../configuration-file/format.ts';
import type { ConfigurationText } from '../../configuration-file/read-configuration.ts';
import { failureCode } from '../../lib/error-text.ts';
import { usage } from '../../lib/flags.ts';
import { createTextSource } from '../api/text-source.ts';

const SUFFIX = /\.ya?ml$/;
const STANDARD_INPUT = '-';

/** The texts of files and of the YAML files in directories; `-` is standard input, and pipes of a shell are read. */
export function readFiles(paths: readonly string[]): Promise<readonly ConfigurationText[]> {
  return textsAt(paths, textOf);
}

/** Without standard input, pipes and devices, which may have no end: for a server that nobody watches. */
export function readRegularFiles(paths: readonly string[]): Promise<readonly ConfigurationText[]> {
  return textsAt(paths, regularText);
}

async function textsAt(
  paths: readonly string[],
  read: (path: string) => Promise<string>,
): Promise<readonly ConfigurationText[]> {
  if (paths.length === 0) throw usage('name at least one file: -f postern.yaml');
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
  requireSize(path, await statOf(path));
  return decoded(path, await readFile(path).catch((cause: unknown) => unreadable(path, cause)));
}

async function regularText(path: string): Promise<string> {
  // Not blocking: otherwise the open of a pipe waits for a writer.
  const flags = constants.O_RDONLY | constants.O_NONBLOCK;
  await using file = await open(path, flags).catch((cause: unknown) => unreadable(path, cause));
  const found = await file.stat();
  if (!found.isFile()) throw usage(`${path} is not a regular file`);
  requireSize(path, found);
  return decoded(path, await file.readFile().catch((cause: unknown) => unreadable(path, cause)));
}

/** The text is checked again: a file may grow meanwhile. */
function requireSize(path: string, { size }: { readonly size: number }): void {
  if (size <= MAX_FILE_BYTES) return;
  throw usage(`${path} is larger than ${MAX_FILE_BYTES / 1024 / 1024} MiB: divide it into several files`);
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
  const reason = failureCode(cause);
  throw usage(`cannot read ${path} (${reason})`);
}
