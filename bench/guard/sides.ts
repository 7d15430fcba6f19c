import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const MIB = 1024 * 1024;

/** One of the two programs that are compared. */
export interface Side {
  readonly checkout: string;
  /** What npm would publish, unpacked, with the dependencies of the checkout. */
  readonly package: string;
  readonly packedMiB: number;
  readonly unpackedMiB: number;
}

export interface Sides {
  readonly before: Side;
  readonly after: Side;
}

/** What a folder lacks to be compared; null: nothing. */
export function problemOf(checkout: string): string | null {
  const missing = ['bin/postern.mjs', 'tools/build.ts', 'node_modules'].find(
    (path) => !existsSync(join(checkout, path)),
  );
  if (missing === undefined) return null;
  return `${checkout} has no ${missing}: give a checkout of Postern in which "npm ci" was run`;
}

/** Builds and packs a checkout. */
export async function packedSide(checkout: string, directory: string): Promise<Side> {
  await mkdir(directory, { recursive: true });
  await run(process.execPath, ['tools/build.ts'], { cwd: checkout });
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', directory];
  const { stdout } = await run('npm', args, { cwd: checkout, maxBuffer: 16 * MIB });
  const [packed] = JSON.parse(stdout) as { filename: string; size: number; unpackedSize: number }[];
  if (packed === undefined) throw new Error(`npm pack made nothing in ${checkout}`);
  await run('tar', ['-xf', join(directory, packed.filename), '-C', directory]);
  const unpacked = join(directory, 'package');
  await symlink(join(checkout, 'node_modules'), join(unpacked, 'node_modules'));
  return { checkout, package: unpacked, packedMiB: packed.size / MIB, unpackedMiB: packed.unpackedSize / MIB };
}
