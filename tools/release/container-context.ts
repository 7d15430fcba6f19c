import { globSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { tarArchive } from './tar-archive.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Builders read them beside the context. */
const BESIDE = ['Dockerfile', '.dockerignore'];

/** What `docker build` sends, as one file: `docker build - < FILE` builds the image. */
export function containerContext(): Buffer {
  const paths = [...BESIDE, ...globSync('compose*.yaml', { cwd: root }), ...filesBelow('').filter(isInContext)];
  const files = paths.map((path) => ({
    path,
    bytes: readFileSync(join(root, path)),
    isExecutable: (statSync(join(root, path)).mode & 0o100) !== 0,
  }));
  return gzipSync(tarArchive(files), { level: 9 });
}

function filesBelow(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = relative(root, join(root, folder, entry.name));
    if (entry.isFile()) return [path];
    // No pattern of .dockerignore reaches into these: builders would send whatever a checkout left there.
    const isSkipped = entry.name === 'node_modules' || entry.name.startsWith('.');
    return entry.isDirectory() && !isSkipped ? filesBelow(path) : [];
  });
}

/** Whether the build context contains a path, by .dockerignore: the last pattern that matches decides. */
export function isInContext(path: string): boolean {
  let isIncluded = true;
  for (const pattern of patterns()) {
    const isException = pattern.startsWith('!');
    if (matches(isException ? pattern.slice(1) : pattern, path)) isIncluded = isException;
  }
  return isIncluded;
}

let cached: readonly string[] | undefined;
function patterns(): readonly string[] {
  cached ??= readFileSync(join(root, '.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  return cached;
}

function matches(pattern: string, path: string): boolean {
  if (pattern === '*') return true;
  if (pattern.startsWith('**/*')) return path.endsWith(pattern.slice(4));
  return path === pattern || path.startsWith(`${pattern}/`);
}
