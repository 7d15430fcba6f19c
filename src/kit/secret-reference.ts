import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { failureCode, whyUnreadable } from './error-text.ts';

/** Where the value of a secret is: `${env:NAME}` or `${file:PATH}`. */
export interface SecretReference {
  readonly from: 'env' | 'file';
  readonly name: string;
}

/** A problem names the variable or the file, never the value. */
export type ReadSecret =
  | { readonly value: string }
  | { readonly problem: string; readonly state: 'absent' | 'empty' | 'unusable' };

export interface SecretSources {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Paths are relative to it. */
  readonly directory: string;
}

const ENV = /^\$\{env:([A-Za-z_][A-Za-z0-9_]{0,254})\}$/;
const FILE = /^\$\{file:([^\0\r\n{}]{1,4096})\}$/;
const MAX_SECRET_BYTES = 1024 * 1024;

export const SECRET_FORMS = '"$' + '{env:NAME}" or "$' + '{file:PATH}"';

export function parseSecretReference(text: string): SecretReference | null {
  const env = ENV.exec(text)?.[1];
  if (env !== undefined) return { from: 'env', name: env };
  const file = FILE.exec(text)?.[1];
  return file === undefined ? null : { from: 'file', name: file };
}

export async function readSecret({ from, name }: SecretReference, sources: SecretSources): Promise<ReadSecret> {
  return from === 'env' ? fromEnvironment(name, sources.env) : fromFile(resolve(sources.directory, name));
}

function fromEnvironment(name: string, env: SecretSources['env']): ReadSecret {
  const value = env[name];
  if (value === undefined) return { problem: `the environment variable ${name} is not set`, state: 'absent' };
  return value === '' ? { problem: `the environment variable ${name} is empty`, state: 'empty' } : { value };
}

async function fromFile(path: string): Promise<ReadSecret> {
  try {
    const found = await stat(path);
    if (!found.isFile()) return { problem: `${path} is not a regular file`, state: 'unusable' };
    if (found.size > MAX_SECRET_BYTES)
      return { problem: `${path} is larger than ${MAX_SECRET_BYTES} bytes`, state: 'unusable' };
    // Editors append a line end; a secret has none.
    const value = (await readFile(path, 'utf8')).replace(/\r?\n$/, '');
    return value === '' ? { problem: `${path} is empty`, state: 'empty' } : { value };
  } catch (cause) {
    return {
      problem: `cannot read ${path}: ${whyUnreadable(cause)}`,
      state: failureCode(cause) === 'ENOENT' ? 'absent' : 'unusable',
    };
  }
}
