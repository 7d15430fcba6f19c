import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly integrity?: string }>>;
}

export function lockedVersion(nodePackage: string): string {
  return lockedPackage(nodePackage).version;
}

/** Downloads the Node of another platform into `scratch`, checks it against the lockfile, and returns its path. */
export function fetchLockedNode(nodePackage: string, scratch: string): string {
  const { version, integrity } = lockedPackage(nodePackage);
  const folder = join(scratch, nodePackage);
  mkdirSync(folder, { recursive: true });
  // npm asks the registry that is configured, and keeps what it downloaded.
  const args = ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder, `${nodePackage}@${version}`];
  execFileSync('npm', args, { cwd: scratch, stdio: ['ignore', 'ignore', 'inherit'] });
  const tarball = join(folder, `${nodePackage}-${version}.tgz`);
  checkIntegrity(readFileSync(tarball), integrity, `${nodePackage}@${version}`);
  execFileSync('tar', ['-xzf', tarball, '-C', folder, 'package/bin/node']);
  return join(folder, 'package', 'bin', 'node');
}

export function checkIntegrity(bytes: Uint8Array, integrity: string, name: string): void {
  const found = `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
  if (found !== integrity)
    throw new Error(`the registry's ${name} has hash ${found}, and package-lock.json says ${integrity}`);
}

function lockedPackage(name: string): { readonly version: string; readonly integrity: string } {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock;
  const { version, integrity } = lock.packages[`node_modules/${name}`] ?? {};
  if (version === undefined || integrity === undefined)
    throw new Error(`package-lock.json has no hash of ${name}: run node tools/complete-lockfile.mjs`);
  return { version, integrity };
}
