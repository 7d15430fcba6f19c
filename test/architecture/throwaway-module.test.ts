// Long form: generates everything in a copy of the project. Short form: test/architecture/registries.test.ts
import assert from 'node:assert/strict';
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ProjectCopy } from './project-copy.ts';
import { projectRoot } from './source-files.ts';

const HERE = 'test/architecture/throwaway-module';
const PROGRAM = 'use-throwaway.ts';
/** More modules, which use every hook on traffic and every port: see `module-contract.test.ts`. */
const HOOKED = 'test/architecture/throwaway-hooks';
/** The page's module is added as a reader adds it. */
const PAGE = 'docs/internals/writing-a-module.md';
const REGISTRY = 'src/modules/registry.ts';
/** Files that `npm run generate` writes. */
const GENERATED =
  /^(man\/|openapi\.json|docs\/reference\/|src\/app\/settings\/defaults\.yaml|src\/client\/generated\/|src\/app\/cli\/(api|agent)\/generated\/|src\/control\/configuration-file\/generated\/)/;

test('a module is one folder and one line of the registry', { timeout: 400_000 }, async (t) => {
  const copy = await ProjectCopy.make(t);
  addModule(copy, HERE, 'src/modules/throwaway');
  addModule(copy, HOOKED, 'src/modules/hooked');
  const shown = filesOfPage(readFileSync(join(projectRoot, PAGE), 'utf8'));
  assert.equal(shown.length, 7, `${PAGE} shows a module with its README and two tests, and one that refuses`);
  for (const { path, text } of shown) copy.write(path, text);
  const registry = copy.read(REGISTRY);
  const registered = registry
    .replace(
      /^/,
      [
        'safe_methods/safe-methods',
        'salutation/salutation',
        'throwaway/throwaway',
        'hooked/hooked',
        'hooked/hooked-login',
        'hooked/hooked-edge',
      ]
        .map((file) => `import { ${exportOf(file)} } from './${file}.ts';\n`)
        .join(''),
    )
    .replace(/\bcompression,/, 'safeMethods, salutation, throwaway, hookedEdge, hookedLogin, hooked, compression,');
  assert.match(
    registered,
    /oidc,[^;]*safeMethods, salutation, throwaway, hookedEdge, hookedLogin, hooked, compression,/,
    'compression has no line in the registry',
  );
  copy.write(REGISTRY, registered);

  const written = [...(await copy.run('tools/generate.ts')).matchAll(/^wrote (.+)$/gm)].map((match) => match[1] ?? '');
  assert.deepEqual(
    written.filter((path) => !GENERATED.test(path)),
    [],
  );
  assert.equal(await copy.run('tools/generate.ts', '--check'), '', 'one run writes everything');
  assert.match(copy.read('openapi.json'), /\/throwaway"/);
  assert.match(copy.read('docs/reference/errors.md'), /ERR_POSTERN_THROWAWAY/);
  assert.match(copy.read('docs/reference/configuration.md'), /POSTERN_THROWAWAY_LIMIT/);
  assert.match(copy.read('src/app/settings/defaults.yaml'), /^throwaway_limit: 5$/m);
  assert.match(
    await copy.run('bin/postern.mjs', 'server', '--help', '--all'),
    /--throwaway-limit NUMBER\s+Characters that/,
  );
  const help = await copy.run('bin/postern.mjs', 'http', '--help', '--all');
  assert.match(help, /--throwaway-greeting TEXT\s+Greeting for/);
  assert.match(help, /postern http 3000 --throwaway-greeting hello/);
  assert.match(await copy.run('bin/postern.mjs', 'completion', 'bash'), /--throwaway-greeting/);

  cpSync(join(projectRoot, HERE, PROGRAM), join(copy.root, HERE, PROGRAM));
  assert.match(await copy.run(join(HERE, PROGRAM)), /pass 3\n/);
  cpSync(join(projectRoot, HOOKED, 'use-hooked.ts'), join(copy.root, HOOKED, 'use-hooked.ts'));
  assert.match(await copy.run(join(HOOKED, 'use-hooked.ts')), /pass 3\n/);
  const tests = shown.map(({ path }) => path).filter((path) => path.endsWith('.test.ts'));
  for (const path of tests) assert.match(await copy.run(path), /pass 1\n/, path);
});

/** The code blocks of a page that follow a line with the path of their file. */
function filesOfPage(page: string): { readonly path: string; readonly text: string }[] {
  const blocks = page.matchAll(/^\*\*(\S+)\*\*[^\n]*:\n\n```\w+\n([\s\S]*?)^```$/gm);
  return Array.from(blocks, ([, path = '', text = '']) => ({ path, text }));
}

function addModule(copy: ProjectCopy, from: string, to: string): void {
  for (const file of readdirSync(join(projectRoot, from)).filter((name) => !name.startsWith('use-'))) {
    const text = readFileSync(join(projectRoot, from, file), 'utf8');
    const moved = text.replaceAll('../../../src/modules/', '../').replaceAll('../../../src/', '../../');
    copy.write(join(to, file), moved);
  }
}

/** `hookedLogin` of `hooked/hooked-login`. */
function exportOf(file: string): string {
  return file.replace(/.*\//, '').replace(/-(.)/g, (_dash, letter: string) => letter.toUpperCase());
}
