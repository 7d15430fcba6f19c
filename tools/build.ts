import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundlePackage } from './binary/bundle.ts';
import { bundledLicenses } from './binary/bundled-licenses.ts';
import { buildConsoleIfStale } from './build-console.ts';
import { programAssets } from './program-assets.ts';
import { pruneDeclarations } from './prune-declarations.ts';

/**
 * Builds `dist/` for publishing: Node does not strip types inside node_modules, so a package must contain JavaScript.
 * The 1,700 files of the program and its dependencies become a few (decision 62); the compiler only writes
 * declarations.
 */
const root = fileURLToPath(new URL('..', import.meta.url));
const output = join(root, 'dist');
/** What other programs import, by its place in the package: they also get type declarations. */
const LIBRARIES = { 'client/index': 'client/index', 'agent/index': 'tunnel/agent/index' };
const PROJECT_FILE = join(root, 'node_modules', '.postern-build.json');

// Executables of `npm run build:binary` stay.
if (existsSync(output)) {
  for (const name of readdirSync(output).filter((found) => !found.startsWith('postern-'))) {
    rmSync(join(output, name), { recursive: true, force: true });
  }
}
// A separate project file, because files cannot be excluded on the command line; outside the tree, where editors would
// find it.
writeFileSync(
  PROJECT_FILE,
  JSON.stringify({
    extends: '../tsconfig.json',
    compilerOptions: {
      noEmit: false,
      // The state that the type check keeps says that nothing changed, and the compiler would then write nothing.
      incremental: false,
      declaration: true,
      emitDeclarationOnly: true,
      rootDir: join(root, 'src'),
      outDir: output,
      types: ['node'],
    },
    include: [],
    files: Object.values(LIBRARIES).map((path) => join(root, 'src', `${path}.ts`)),
  }),
);
const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
const bundled = bundlePackage({ 'app/main/cli': 'app/main/cli', ...LIBRARIES }, output);
writeFileSync(join(output, 'LICENSES.txt'), bundledLicenses(bundled));
const { status } = spawnSync(process.execPath, [compiler, '--project', PROJECT_FILE], { cwd: root, stdio: 'inherit' });
rmSync(PROJECT_FILE);
if (status !== 0) process.exit(status ?? 1);
for (const asset of programAssets()) cpSync(join(root, 'src', asset), join(output, asset));
buildConsoleIfStale();
for (const [place, path] of Object.entries(LIBRARIES).filter(([place, path]) => place !== path)) {
  mkdirSync(dirname(join(output, place)), { recursive: true });
  writeFileSync(join(output, `${place}.d.ts`), `export * from '../${path}.js';\n`);
}
pruneDeclarations(
  output,
  Object.keys(LIBRARIES).map((place) => `${place}.d.ts`),
);
console.log('built dist/ and console/dist/');
