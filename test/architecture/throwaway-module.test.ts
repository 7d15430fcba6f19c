// Long form: generates everything in a copy of the project. Short form: test/architecture/registries.test.ts
import assert from 'node:assert/strict';
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ProjectCopy } from './project-copy.ts';
import { projectRoot } from './source-files.ts';

const HERE = 'test/architecture/throwaway-module';
const PROGRAM = 'use-throwaway.ts';
/** A second module, which uses every hook on traffic and every port. */
const HOOKED = 'test/architecture/throwaway-hooks';
const REGISTRY = 'src/modules/registry.ts';
/** Files that `npm run generate` writes. */
const GENERATED =
  /^(openapi\.json|docs\/reference\/|src\/config\/defaults\.yaml|src\/client\/generated\/|src\/cli\/(api|agent)\/generated\/|src\/configuration-file\/generated\/)/;

test('a module is one folder and one line of the registry', { timeout: 400_000 }, async (t) => {
  const copy = await ProjectCopy.make(t);
  for (const file of readdirSync(join(projectRoot, HERE)).filter((name) => name !== PROGRAM)) {
    const text = readFileSync(join(projectRoot, HERE, file), 'utf8');
    const moved = text.replaceAll('../../../src/modules/', '../').replaceAll('../../../src/', '../../');
    copy.write(join('src/modules/throwaway', file), moved);
  }
  const hooked = readFileSync(join(projectRoot, HOOKED, 'hooked.ts'), 'utf8');
  copy.write(
    'src/modules/hooked/hooked.ts',
    hooked.replaceAll('../../../src/modules/', '../').replaceAll('../../../src/', '../../'),
  );
  const registry = copy.read(REGISTRY);
  const registered = registry
    .replace(
      /^/,
      "import { throwaway } from './throwaway/throwaway.ts';\nimport { hooked } from './hooked/hooked.ts';\n",
    )
    .replace(/\bcompression,/, 'throwaway, hooked, compression,');
  assert.match(registered, /oidc,[^;]*throwaway, hooked, compression,/, 'compression has no line in the registry');
  copy.write(REGISTRY, registered);

  const written = [...(await copy.run('tools/generate.ts')).matchAll(/^wrote (.+)$/gm)].map((match) => match[1] ?? '');
  assert.deepEqual(
    written.filter((path) => !GENERATED.test(path)),
    [],
  );
  assert.match(copy.read('openapi.json'), /\/throwaway"/);
  assert.match(copy.read('docs/reference/errors.md'), /ERR_POSTERN_THROWAWAY/);
  assert.match(copy.read('docs/reference/configuration.md'), /POSTERN_THROWAWAY_LIMIT/);
  assert.match(copy.read('src/config/defaults.yaml'), /^throwaway_limit: 5$/m);
  assert.match(await copy.run('bin/postern.mjs', 'server', '--help'), /--throwaway-limit\s+Characters that/);
  assert.match(await copy.run('bin/postern.mjs', 'http', '--help'), /--throwaway-greeting TEXT +Greeting for/);
  assert.match(await copy.run('bin/postern.mjs', 'completion', 'bash'), /--throwaway-greeting/);

  cpSync(join(projectRoot, HERE, PROGRAM), join(copy.root, HERE, PROGRAM));
  assert.match(await copy.run(join(HERE, PROGRAM)), /pass 3\n/);
  cpSync(join(projectRoot, HOOKED, 'use-hooked.ts'), join(copy.root, HOOKED, 'use-hooked.ts'));
  assert.match(await copy.run(join(HOOKED, 'use-hooked.ts')), /pass 1\n/);
});
