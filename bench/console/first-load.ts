import { readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { buildConsoleIfStale } from '../../tools/build-console.ts';
import { say } from '../support/flags.ts';

const FOLDER = fileURLToPath(new URL('../../console/dist/', import.meta.url));
const GOAL_KB = 150;

/** What a browser loads before it shows the page, compressed. */
export function firstLoad(): void {
  buildConsoleIfStale();
  const page = readFileSync(`${FOLDER}index.html`, 'utf8');
  const assets = Array.from(page.matchAll(/(?:src|href)="\/console\/(assets\/[^"]+)"/g), ([, path]) => path as string);
  const bytes = ['index.html', ...assets].reduce((sum, path) => sum + statSync(`${FOLDER}${path}.br`).size, 0);
  say(`first load: ${(bytes / 1000).toFixed(1)} KB in ${assets.length + 1} files (goal below ${GOAL_KB} KB)`);
}
