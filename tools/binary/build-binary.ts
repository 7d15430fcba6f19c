import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildConsoleIfStale } from '../build-console.ts';
import { consoleAssets, programAssets } from '../program-assets.ts';
import { bundleProgram, bundleWorker } from './bundle.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Programs that threads run, as `startProgramWorker` names them. */
export const WORKERS = ['store/sqlite/worker', 'main/workers/thread/edge-worker'];

/**
 * Writes one executable with server, agent and command line into `folder`, and returns its path. It contains the Node
 * that runs this, so it works on the same operating system and processor only.
 */
export function buildBinary(folder: string): string {
  const scratch = mkdtempSync(join(tmpdir(), 'postern-binary-'));
  const output = join(folder, `postern-${process.platform}-${process.arch}`);
  try {
    buildConsoleIfStale();
    bundleProgram(join(scratch, 'program.mjs'));
    for (const path of WORKERS) bundleWorker(`src/${path}.ts`, join(scratch, 'workers', `${path}.js`));
    const config = {
      main: join(scratch, 'program.mjs'),
      mainFormat: 'module',
      output: join(scratch, 'postern'),
      disableExperimentalSEAWarning: true,
      // Compiled when it is built: a start takes half the time.
      useCodeCache: true,
      assets: Object.fromEntries([
        ['../package.json', join(root, 'package.json')],
        ...[...programAssets(), ...consoleAssets()].map((path) => [path, join(root, 'src', path)]),
        ...WORKERS.map((path) => [`${path}.js`, join(scratch, 'workers', `${path}.js`)]),
      ]),
    };
    writeFileSync(join(scratch, 'sea.json'), JSON.stringify(config));
    execFileSync(process.execPath, ['--build-sea', join(scratch, 'sea.json')], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    mkdirSync(folder, { recursive: true });
    // Replaced as a whole: a running copy of the old one keeps its file.
    execFileSync('mv', ['-f', config.output, output]);
    chmodSync(output, 0o755);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return output;
}
