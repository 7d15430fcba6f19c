import { cpSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import workerThreads from 'node:worker_threads';
import { bundlePackage, bundleWorker, STORE_THREAD, WORKERS } from '../binary/bundle.ts';
import { consoleAssets, programAssets } from '../program-assets.ts';
import { StoreThreads } from './store-threads.ts';

/** In the folder of the program: what threads that stores share run. */
const STORE_SCRIPT = 'store-thread.cjs';

/**
 * Writes the program into `folder`, laid out like the package, in a few large files. Tests start some hundred servers,
 * and the source's 1,000 files take each of them 0.4 s of CPU to load. Returns the launcher.
 */
export function bundledProgram(root: string, folder: string): string {
  bundlePackage({ 'app/main/cli': 'app/main/cli' }, join(folder, 'dist'));
  bundleWorker(`src/${STORE_THREAD}.ts`, join(folder, STORE_SCRIPT));
  for (const asset of [...programAssets(), ...consoleAssets()])
    cpSync(join(root, 'src', asset), join(folder, 'dist', asset));
  for (const file of ['package.json', 'bin/postern.mjs']) cpSync(join(root, file), join(folder, file));
  return join(folder, 'bin', 'postern.mjs');
}

/**
 * Makes the threads of servers in this process load the bundle too: the 48 files of the store's thread take each of
 * them 25 ms of CPU, and every server has two. With `sharesStoreThreads`, all stores have one thread.
 */
export function startThreadsFromBundle(root: string, launcher: string, sharesStoreThreads: boolean): void {
  const program = join(dirname(launcher), '..');
  const sourceOf = (worker: string) => pathToFileURL(join(root, 'src', `${worker}.ts`)).href;
  const bundled = new Map(
    WORKERS.map((worker) => [sourceOf(worker), pathToFileURL(join(program, 'dist', `${worker}.js`))]),
  );
  const storeThread = sourceOf(STORE_THREAD);
  const shared = sharesStoreThreads ? new StoreThreads(join(program, STORE_SCRIPT)) : null;
  workerThreads.Worker = new Proxy(workerThreads.Worker, {
    construct: (Worker, [file, options = {}]: [string | URL, workerThreads.WorkerOptions?]) =>
      String(file) === storeThread && shared !== null
        ? shared.start(options)
        : new Worker(bundled.get(String(file)) ?? file, options),
  });
  syncBuiltinESMExports();
}
