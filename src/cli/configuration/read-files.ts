import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { MAX_FILE_BYTES } from '../../configuration-file/format.ts';
import type { ConfigurationText } from '../../configuration-file/read-configuration.ts';
import { failureCode } from '../../lib/error-text.ts';
import { usage } from '../../lib/flags.ts';
import { createTextSource } from '../api/text-source.ts';

const SUFFIX = /\.ya?ml$/;
const STANDARD_INPUT = '-';

/** The texts of files and of the YAML files in directories; `-` is standard input. */
export async function readFiles(paths: readonly string[]): Promise<readonly ConfigurationText[]> {
  if (paths.length === 0) throw usage('name at least one file: -f postern.yaml');
  const files: string[] = [];
  for (const path of paths) files.push(...(await filesAt(path)));
  const unique = [...new Set(files)];
  return Promise.all(unique.map(async (name) => ({ name, text: await textOf(name) })));
}

async function filesAt(path: string): Promise<readonly string[]> {
  if (path === STANDARD_INPUT || !(await statOf(path)).isDirectory()) return [path];
  const names = (await readdir(path)).filter((name) => SUFFIX.test(name) && !name.startsWith('.')).sort();
  if (names.length === 0) throw usage(`the directory ${path} has no file with the suffix .yaml or .yml`);
  return names.map((name) => join(path, name));
}

async function textOf(path: string): Promise<string> {
  if (path === STANDARD_INPUT) return createTextSource().read(path, 'file');
  const { size } = await statOf(path);
  // The text is checked again: a file may grow meanwhile.
  if (size > MAX_FILE_BYTES)
    throw usage(`${path} is larger than ${MAX_FILE_BYTES / 1024 / 1024} MiB: divide it into several files`);
  const bytes = await readFile(path).catch((cause: unknown) => unreadable(path, cause));
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
