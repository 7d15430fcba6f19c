import { existsSync, globSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/**
 * Deletes the type declarations that no entry point of the package leads to: they were a fifth of its files. `entries`
 * and the result are relative to `folder`; returns the number of declarations that stay.
 */
export function pruneDeclarations(folder: string, entries: readonly string[]): number {
  const reached = new Set(entries);
  for (const path of reached) {
    const text = readFileSync(join(folder, path), 'utf8');
    for (const [, target = ''] of text.matchAll(/(?:from|import\()\s*['"](\.[^'"]+)['"]/g)) {
      const declaration = normalize(join(dirname(path), target)).replace(/(?:\.d)?\.[jt]s$/, '.d.ts');
      if (existsSync(join(folder, declaration))) reached.add(declaration);
    }
  }
  for (const path of globSync('**/*.d.ts', { cwd: folder })) if (!reached.has(path)) rmSync(join(folder, path));
  return reached.size;
}
