import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { sharedBuild } from './shared-build.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));

export interface BuiltPackage {
  readonly tarball: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string }[];
}

/** The package as `npm pack` makes it, once for all test files. */
export async function builtPackage(): Promise<BuiltPackage> {
  const folder = await sharedBuild('package', async (target) => {
    const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', target], { cwd: root });
    // The build prints a line first. npm prints a list or, in other versions, an object by package.
    const printed = JSON.parse(stdout.slice(stdout.search(/^[[{]/m))) as Record<
      string,
      BuiltPackage & { filename: string }
    >;
    const packed = Object.values(printed)[0];
    if (packed === undefined) throw new Error(`npm pack printed ${stdout}`);
    await writeFile(
      join(target, 'package.json'),
      JSON.stringify({ ...packed, tarball: join(target, packed.filename) }),
    );
  });
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as BuiltPackage;
}
