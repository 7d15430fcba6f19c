import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** Runs every generator of `tools/generators/` and writes its files; `--check` only compares. */
interface Generator {
  readonly name: string;
  /** The generator reads files that other generators write, and runs after them. */
  readonly readsGenerated?: boolean;
  /** File texts by their path inside the project. */
  generate(): Promise<Map<string, string>>;
}

const root = fileURLToPath(new URL('..', import.meta.url));
const isCheck = process.argv.includes('--check');
const unknown = process.argv.slice(2).find((argument) => argument !== '--check');
if (unknown !== undefined) fail(`unknown argument ${unknown}: the only flag is --check`);

let stale = 0;
for (const generator of await loadGenerators()) {
  for (const [path, text] of await generator.generate()) {
    const target = join(root, path);
    const current = await readFile(target, 'utf8').catch(() => null);
    if (current === text) continue;
    stale += 1;
    if (isCheck) {
      console.error(`${path} is out of date (generator ${generator.name}): run "npm run generate" and commit the file`);
      continue;
    }
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, text);
    console.log(`wrote ${path}`);
  }
}
if (isCheck && stale > 0) process.exitCode = 1;

async function loadGenerators(): Promise<Generator[]> {
  const folder = join(root, 'tools', 'generators');
  const files = (await readdir(folder)).filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts')).sort();
  const generators: Generator[] = [];
  for (const file of files) {
    const module = (await import(pathToFileURL(join(folder, file)).href)) as Partial<Generator>;
    if (typeof module.generate !== 'function' || typeof module.name !== 'string') {
      fail(`${relative(root, join(folder, file))} must export name and generate()`);
    }
    generators.push(module as Generator);
  }
  return generators.sort((one, other) => Number(one.readsGenerated ?? false) - Number(other.readsGenerated ?? false));
}

function fail(message: string): never {
  console.error(`generate: ${message}`);
  process.exit(2);
}
