import { cpSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import workerThreads from 'node:worker_threads';
import { bundlePackage, WORKERS } from '../binary/bundle.ts';
import { consoleAssets, programAssets } from '../program-assets.ts';

/**
 * Writes the program into `folder`, laid out like the package, in a few large files. Tests start some hundred servers,
 * and the source's 1,000 files take each of them 0.4 s of CPU to load. Returns the launcher.
 */
export function bundledProgram(root: string, folder: string): string {
  bundlePackage({ 'app/main/cli': 'app/main/cli' }, join(folder, 'dist'));
  for (const asset of [...programAssets(), ...consoleAssets()])
    cpSync(join(root, 'src', asset), join(folder, 'dist', asset));
  for (const file of ['package.json', 'bin/postern.mjs']) cpSync(join(root, file), join(folder, file));
  return join(folder, 'bin', 'postern.mjs');
}

/**
 * Makes the threads of servers in this process load the bundle too: the 48 files of the store's thread take each of
 * them 25 ms of CPU, and every server has two.
 */
export function startThreadsFromBundle(root: string, launcher: string): void {
  const folder = join(dirname(launcher), '..', 'dist');
  const bundled = new Map(
    WORKERS.map((worker) => [
      pathToFileURL(join(root, 'src', `${worker}.ts`)).href,
      pathToFileURL(join(folder, `${worker}.js`)),
    ]),
  );
  workerThreads.Worker = class extends workerThreads.Worker {
    constructor(file: string | URL, options?: workerThreads.WorkerOptions) {
      super(bundled.get(String(file)) ?? file, options);
    }
  };
  syncBuiltinESMExports();
}
