import { globSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Files that the program reads at run time beside its code, relative to `src`. */
export function programAssets(): readonly string[] {
  return globSync('**/*.{yaml,html,css,svg,sql,js,json}', { cwd: `${root}/src` });
}

/** Files of the built console, relative to `src` as `readProgramBytes` names them. */
export function consoleAssets(): readonly string[] {
  return globSync('../console/dist/**', { cwd: `${root}/src` }).filter((path) =>
    statSync(`${root}/src/${path}`).isFile(),
  );
}
