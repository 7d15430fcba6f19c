import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { esbuild } from '../esbuild.ts';

const SHARED = [
  '--bundle',
  '--platform=node',
  // As the compiler: the syntax of the source.
  '--target=esnext',
  '--minify-syntax',
  '--minify-whitespace',
  // Names of classes and functions show up in stack traces.
  '--keep-names',
  '--legal-comments=none',
  '--log-level=warning',
];

export const STORE_THREAD = 'store/sqlite/worker';
/** Programs that threads run, as `startProgramWorker` names them. */
export const WORKERS = [STORE_THREAD, 'app/main/workers/thread/edge-worker', 'proxy/lists/thread/list-builder'];

/** Files of `src` by their place in the package, both without folder and ending. */
type Places = Readonly<Record<string, string>>;

/** Dependencies in CommonJS call `require` for parts of Node, which a module does not have. */
const REQUIRE = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";

/** The program as one module: starts `main` when it is loaded. */
export function bundleProgram(outfile: string): void {
  const entry = `
    import { main } from './src/app/main/cli.ts';
    main().catch((error) => { console.error(error); process.exit(1); });
  `;
  esbuild(
    [...SHARED, `--format=esm`, `--banner:js=${REQUIRE}`, '--sourcefile=executable.ts', `--outfile=${outfile}`],
    entry,
  );
}

/**
 * The files of the package: the given modules and the threads. The store's thread shares no part with the others: one
 * file takes it 13 ms of CPU less to load than 15 parts, and every server starts two. Returns the files that were
 * bundled.
 */
export function bundlePackage(modules: Places, folder: string): readonly string[] {
  const threads = WORKERS.filter((path) => path !== STORE_THREAD).map((path) => [path, path]);
  const sharing = { ...modules, ...Object.fromEntries(threads) };
  return [...new Set([...bundleModules(sharing, folder), ...bundleModules({ [STORE_THREAD]: STORE_THREAD }, folder)])];
}

/**
 * Our files `src/PATH.ts`, with everything that they import, as modules `FOLDER/PLACE.js` with the same exports. What
 * they import on demand is still loaded on demand: as one file, the program would take each short command 0.1 s of CPU
 * more to load. The files that they share are in `FOLDER/parts`, whose names change with their content: a running
 * program never loads a part of another version that was installed over it. Returns the files that were bundled.
 */
function bundleModules(modules: Places, folder: string): readonly string[] {
  const sources = Object.entries(modules).map(([place, path]) => `${place}=src/${path}.ts`);
  const names = [`--outdir=${folder}`, '--chunk-names=parts/[name]-[hash]'];
  const list = join(folder, 'bundled.json');
  const form = ['--format=esm', '--splitting', `--banner:js=${REQUIRE}`, `--metafile=${list}`];
  esbuild([...SHARED, ...sources, ...form, ...names]);
  const { inputs } = JSON.parse(readFileSync(list, 'utf8')) as { readonly inputs: Readonly<Record<string, unknown>> };
  rmSync(list);
  return Object.keys(inputs);
}

/** A script has no URL of its own, and modules that ask for theirs would fail when they are loaded. */
const EXECUTABLE_URL = "const executableUrl = require('node:url').pathToFileURL(process.execPath).href;";

/** A worker's program as one script: a thread that starts from text takes no module. */
export function bundleWorker(source: string, outfile: string): void {
  const url = ['--define:import.meta.url=executableUrl', `--banner:js=${EXECUTABLE_URL}`];
  esbuild([...SHARED, source, '--format=cjs', ...url, `--outfile=${outfile}`]);
}
