import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
/** The program of esbuild rather than its JavaScript API: the type check must pass where it is not installed yet. */
const ESBUILD = join(root, 'node_modules', '@esbuild', `${process.platform}-${process.arch}`, 'bin', 'esbuild');

export function esbuild(args: readonly string[], input = ''): void {
  if (!existsSync(ESBUILD)) throw new Error(`${ESBUILD} is missing: run npm ci`);
  execFileSync(ESBUILD, args, { cwd: root, input, stdio: ['pipe', 'inherit', 'inherit'] });
}
