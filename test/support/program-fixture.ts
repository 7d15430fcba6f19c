import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliDecompressSync } from 'node:zlib';

/** A version whose nodes forward requests to each other on channels, and finish what they sent to a node that leaves. */
export const LINKED_VERSION = '113be0f';

/** Unpacks the program of an earlier commit, as `tools/write-program-fixture.ts` wrote it, and returns its launcher. */
export function unpackProgram(commit: string, folder: string): string {
  const fixture = new URL(`../durability/fixtures/${commit}-program.tar.br`, import.meta.url);
  execFileSync('tar', ['-xf', '-', '-C', folder, '--no-same-owner'], {
    input: brotliDecompressSync(readFileSync(fileURLToPath(fixture))),
  });
  return join(folder, 'bin', 'postern.mjs');
}
