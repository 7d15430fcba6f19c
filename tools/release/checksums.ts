import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const CHECKSUMS = 'SHA256SUMS';

/** Writes the hashes of all files of a folder, in the form that `sha256sum --check` reads. */
export function writeChecksums(folder: string): string {
  const lines = readdirSync(folder)
    .filter((name) => !name.startsWith(CHECKSUMS))
    .sort()
    .map(
      (name) =>
        `${createHash('sha256')
          .update(readFileSync(join(folder, name)))
          .digest('hex')}  ${name}\n`,
    );
  const file = join(folder, CHECKSUMS);
  writeFileSync(file, lines.join(''));
  return file;
}
