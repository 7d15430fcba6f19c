import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { WORKERS } from '../binary/build-binary.ts';
import { bundleModule } from '../binary/bundle.ts';
import { programAssets } from '../program-assets.ts';

/**
 * Writes the program into `folder`, laid out like the package, as one file for each thread. Tests start some hundred
 * servers, and the source's 1,000 files take each of them 0.4 s of CPU to load. Returns the launcher.
 */
export function bundledProgram(root: string, folder: string): string {
  bundleModule('src/main/cli.ts', join(folder, 'dist', 'main', 'cli.js'));
  for (const worker of WORKERS) bundleModule(`src/${worker}.ts`, join(folder, 'dist', `${worker}.js`));
  for (const asset of programAssets()) cpSync(join(root, 'src', asset), join(folder, 'dist', asset));
  for (const file of ['package.json', 'bin/postern.mjs']) cpSync(join(root, file), join(folder, file));
  return join(folder, 'bin', 'postern.mjs');
}
