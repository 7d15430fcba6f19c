import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tarArchive } from './tar-archive.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Name in the release, without a version as those of the executables: install.sh asks for it. */
export const MANUAL_PAGES = 'postern-man.tar';

/** The manual pages as one file. */
export function manualPages(): Buffer {
  const paths = globSync('man/*.1', { cwd: root });
  return tarArchive(
    paths.map((path) => ({ path: basename(path), bytes: readFileSync(join(root, path)), isExecutable: false })),
  );
}
