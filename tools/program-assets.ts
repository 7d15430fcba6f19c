import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Files that the program reads at run time beside its code, relative to `src`. */
export function programAssets(): readonly string[] {
  return globSync('**/*.{yaml,html,css,svg,sql,js,json}', { cwd: `${root}/src` });
}
