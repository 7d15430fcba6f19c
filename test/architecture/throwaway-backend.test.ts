// Long form: generates everything in a copy of the project. Short form: test/architecture/registries.test.ts
import assert from 'node:assert/strict';
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ProjectCopy } from './project-copy.ts';
import { projectRoot } from './source-files.ts';

const HERE = 'test/architecture/throwaway-backend';
const REGISTRY = 'src/backends/registry.ts';
/** Files written by `npm run generate`. */
const GENERATED =
  /^(openapi\.json|docs\/reference\/|src\/client\/generated\/|src\/app\/cli\/api\/generated\/|src\/control\/configuration-file\/generated\/)/;

test('a kind of backend is one folder and one line of the registry', { timeout: 240_000 }, async (t) => {
  const copy = await ProjectCopy.make(t);
  const kind = readFileSync(join(projectRoot, HERE, 'throwaway.ts'), 'utf8');
  copy.write(
    'src/backends/throwaway/throwaway.ts',
    kind.replaceAll('../../../src/backends/', '../').replaceAll('../../../src/', '../../'),
  );
  const registry = copy.read(REGISTRY);
  const registered = registry
    .replace(/^/, "import { throwaway } from './throwaway/throwaway.ts';\n")
    .replace(/(\[\] = \[)/, '$1throwaway, ');
  assert.match(registered, /= \[throwaway, /, 'the registry has no list of kinds');
  copy.write(REGISTRY, registered);

  const written = [...(await copy.run('tools/generate.ts')).matchAll(/^wrote (.+)$/gm)].map((match) => match[1] ?? '');
  assert.deepEqual(
    written.filter((path) => !GENERATED.test(path)),
    [],
  );
  assert.match(copy.read('openapi.json'), /"\/backends\/throwaway\/\{id\}"/);
  assert.match(copy.read('docs/reference/errors.md'), /ERR_POSTERN_THROWAWAY/);
  assert.match(await copy.run('bin/postern.mjs', 'api', 'throwaway-backends', 'create', '--help'), /--address/);

  cpSync(join(projectRoot, HERE, 'use-throwaway.ts'), join(copy.root, HERE, 'use-throwaway.ts'));
  assert.match(await copy.run(join(HERE, 'use-throwaway.ts')), /pass 1\n/);
});
