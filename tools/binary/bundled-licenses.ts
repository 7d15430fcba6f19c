import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const LICENSE_FILE = /^(licen[cs]e|notice|copying)\b/i;

/**
 * The licenses of the packages in a bundle, which require that their text goes with the code. `files`: what was
 * bundled.
 */
export function bundledLicenses(files: readonly string[]): string {
  const folders = new Set(files.map((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0]));
  const texts = [...folders].filter((folder) => folder !== undefined).map(textOf);
  return ['Postern contains code of these packages.', ...texts.sort()].join(`\n\n${'-'.repeat(80)}\n\n`);
}

function textOf(folder: string): string {
  const path = join(root, folder);
  const { name, version, license } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as {
    readonly name: string;
    readonly version: string;
    readonly license?: string;
  };
  if (license === undefined) throw new Error(`${name} names no license`);
  const notices = readdirSync(path)
    .filter((file) => LICENSE_FILE.test(file))
    .map((file) => readFileSync(join(path, file), 'utf8').trim());
  return [`${name} ${version} (${license})`, ...notices].join('\n\n');
}
