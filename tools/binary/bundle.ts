import { basename, dirname } from 'node:path';
import { esbuild } from '../esbuild.ts';

const SHARED = [
  '--bundle',
  '--platform=node',
  `--target=node${process.versions.node.split('.')[0]}`,
  '--minify-syntax',
  '--minify-whitespace',
  // Names of classes and functions show up in stack traces.
  '--keep-names',
  '--legal-comments=none',
  '--log-level=warning',
];

/** Dependencies in CommonJS call `require` for parts of Node, which a module does not have. */
const REQUIRE = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";

/** The program as one module: starts `main` when it is loaded. */
export function bundleProgram(outfile: string): void {
  const entry = `
    import { main } from './src/main/cli.ts';
    main().catch((error) => { console.error(error); process.exit(1); });
  `;
  esbuild(
    [...SHARED, `--format=esm`, `--banner:js=${REQUIRE}`, '--sourcefile=executable.ts', `--outfile=${outfile}`],
    entry,
  );
}

/**
 * One of our files, with everything that it imports, as a module with the same exports. What it imports on demand is
 * still loaded on demand: as one file, the program would take each short command 0.1 s of CPU more to load.
 */
export function bundleModule(source: string, outfile: string): void {
  const [folder, name] = [dirname(outfile), basename(outfile, '.js')];
  const names = [`--outdir=${folder}`, `--entry-names=${name}`, '--chunk-names=[name]-[hash]'];
  esbuild([...SHARED, source, '--format=esm', '--splitting', `--banner:js=${REQUIRE}`, ...names]);
}

/** A worker's program as one script: a thread that starts from text takes no module. */
export function bundleWorker(source: string, outfile: string): void {
  esbuild([...SHARED, source, '--format=cjs', `--outfile=${outfile}`]);
}
