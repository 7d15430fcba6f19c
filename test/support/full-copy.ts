import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { projectRoot } from '../docs/markdown.ts';

/** A copy of the checkout as `npm ci` would leave it elsewhere: nothing in it leads back to this one. */
export function fullCopy(folder: string): string {
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--deduplicate'];
  const paths = execFileSync('git', list, { cwd: projectRoot, encoding: 'utf8', maxBuffer: 2 ** 26 });
  for (const path of paths.split('\0').filter((each) => each !== '')) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    cpSync(join(projectRoot, path), join(folder, path));
  }
  execFileSync('cp', ['-a', join(projectRoot, 'node_modules'), folder]);
  return folder;
}
