import { execFileSync } from 'node:child_process';
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { esbuild } from '../esbuild.ts';

/** Names the list of the bundled packages and their files. */
const LIST_VARIABLE = 'POSTERN_TEST_PACKAGES';

const IMPORTED = /\b(?:from|import\()\s*'((?:@[\w.-]+\/)?[\w.-]+)(\/[^']+)?'/g;
const REQUIRE = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";
/** Prints the names that each package given as an argument exports, and where Node finds it. */
const DESCRIBE = `
  await import('reflect-metadata');
  const described = process.argv.slice(1).map(async (name) =>
    ({ name, url: import.meta.resolve(name), exported: Object.keys(await import(name)) }));
  process.stdout.write(JSON.stringify(await Promise.all(described)));`;

interface Described {
  readonly name: string;
  readonly url: string;
  readonly exported: readonly string[];
}

/**
 * Writes each package that the program imports as a few large files: a third of what a process takes to load the
 * program goes to the 2,000 files of packages. Test processes started from here use them.
 */
export function bundlePackages(root: string, folder: string): void {
  const facades = join(folder, 'facades');
  mkdirSync(facades, { recursive: true });
  const described = describe(root, importedPackages(root));
  for (const [at, { url, exported }] of described.entries()) {
    const names = exported.filter((name) => name !== 'module.exports').map((name) => JSON.stringify(name));
    writeFileSync(
      join(facades, `${at}.mjs`),
      `export { ${names.join(', ')} } from ${JSON.stringify(fileURLToPath(url))};\n`,
    );
  }
  esbuild([
    ...described.map((_, at) => join(facades, `${at}.mjs`)),
    ...['--bundle', '--splitting', '--format=esm', '--platform=node', '--target=esnext', '--keep-names'],
    ...['--log-level=error', `--banner:js=${REQUIRE}`, '--out-extension:.js=.mjs', `--outdir=${folder}`],
  ]);
  const list = join(folder, 'packages.json');
  const urls = described.map(({ name }, at) => [name, pathToFileURL(join(folder, `${at}.mjs`)).href]);
  writeFileSync(list, JSON.stringify(urls));
  process.env[LIST_VARIABLE] = list;
}

/** By what an import says. */
export function bundledPackageUrls(): ReadonlyMap<string, string> {
  const list = process.env[LIST_VARIABLE];
  return new Map(list === undefined ? [] : (JSON.parse(readFileSync(list, 'utf8')) as [string, string][]));
}

/** Packages of the program, and not of tests alone, as they are written in its imports. */
function importedPackages(root: string): readonly string[] {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  const files = globSync(['src/**/*.ts', 'tools/dev-idp/**/*.ts'], { cwd: root }).filter(
    (file) => !file.endsWith('.test.ts'),
  );
  const imported = files.flatMap((file) => [...readFileSync(join(root, file), 'utf8').matchAll(IMPORTED)]);
  const own = imported.filter(([, name = '']) => name in dependencies);
  return [...new Set(own.map(([, name, path = '']) => `${name}${path}`))].sort();
}

function describe(root: string, names: readonly string[]): readonly Described[] {
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', DESCRIBE, ...names], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return JSON.parse(output) as readonly Described[];
}
