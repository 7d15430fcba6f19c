import { spawnSync } from 'node:child_process';
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Builds `dist/` for publishing: Node does not strip types inside node_modules, so a package must contain JavaScript.
 */
const root = fileURLToPath(new URL('..', import.meta.url));
const output = join(root, 'dist');
const PROJECT_FILE = join(root, 'node_modules', '.postern-build.json');
/** Files that the program reads at run time beside its code. */
const ASSETS = 'src/**/*.{yaml,html,css,svg,sql,js,json}';

rmSync(output, { recursive: true, force: true });
// A separate project file, because files cannot be excluded on the command line; outside the tree, where editors would
// find it.
writeFileSync(
  PROJECT_FILE,
  JSON.stringify({
    extends: '../tsconfig.json',
    compilerOptions: {
      noEmit: false,
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
for (const file of globSync('**/*.js', { cwd: output })) nameBuiltWorkers(join(output, file));
for (const asset of globSync(ASSETS, { cwd: root })) {
  cpSync(join(root, asset), join(output, asset.slice('src/'.length)));
}
console.log('built dist/');

/** The compiler rewrites imports, but not programs started by URL: `new Worker(new URL('./worker.ts', …))`. */
function nameBuiltWorkers(path: string): void {
  const text = readFileSync(path, 'utf8');
  const renamed = text.replaceAll(/(new URL\((['"])\.[^'"]*)\.ts(\2, import\.meta\.url\))/g, '$1.js$3');
  if (renamed !== text) writeFileSync(path, renamed);
}
