import { execFileSync } from 'node:child_process';
import { delimiter, join } from 'node:path';

/**
 * A Node that is too old to run the program itself, so that the launcher stays a separate process; null when there is
 * none.
 */
export function findOldNode(): string | null {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    try {
      const node = join(folder, 'node');
      const version = execFileSync(node, ['--version'], { stdio: 'pipe' }).toString();
      if (Number(version.slice(1).split('.')[0]) < 24) return node;
    } catch {
      // None in this folder.
    }
  }
  return null;
}
