import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildConsoleIfStale } from './build-console.ts';
import { programAssets } from './program-assets.ts';
import { pruneDeclarations } from './prune-declarations.ts';

/**
 * Builds `dist/` for publishing: Node does not strip types inside node_modules, so a package must contain JavaScript.
 */
const root = fileURLToPath(new URL('..', import.meta.url));
const output = join(root, 'dist');
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
      rewriteRelativeImportExtensions: true,
      rootDir: join(root, 'src'),
      outDir: output,
      types: ['node'],
    },
    include: [join(root, 'src')],
    exclude: [join(root, 'src/**/*.test.ts')],
  }),
);
const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
const { status } = spawnSync(process.execPath, [compiler, '--project', PROJECT_FILE], { cwd: root, stdio: 'inherit' });
rmSync(PROJECT_FILE);
if (status !== 0) process.exit(status ?? 1);
for (const asset of programAssets()) cpSync(join(root, 'src', asset), join(output, asset));
buildConsoleIfStale();
pruneDeclarations(output, ['client/index.d.ts', 'agent/index.d.ts']);
console.log('built dist/ and console/dist/');
