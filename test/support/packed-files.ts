import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { sharedBuild } from './shared-build.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * The paths that `npm pack` would put into the package from this tree, without building it; once for all test files.
 */
export async function packedFiles(): Promise<ReadonlySet<string>> {
  const folder = await sharedBuild('packed-files', async (target) => {
    const args = ['pack', '--dry-run', '--ignore-scripts', '--json'];
    const { stdout } = await promisify(execFile)('npm', args, { cwd: root, maxBuffer: 1 << 26 });
    await writeFile(join(target, 'files.json'), stdout);
  });
  // npm prints a list or, in other versions, an object by package.
  const printed = JSON.parse(await readFile(join(folder, 'files.json'), 'utf8')) as Record<
    string,
    { files: { path: string }[] }
  >;
  return new Set(Object.values(printed)[0]?.files.map(({ path }) => path));
}
