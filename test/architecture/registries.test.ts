import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { backendRecordKinds } from '../../src/backends/record-kinds.ts';
import { backends } from '../../src/backends/registry.ts';
import { destinationKinds } from '../../src/events/destinations/registry.ts';
import { modules } from '../../src/modules/registry.ts';
import { resources } from '../../src/resources/registry.ts';
import { filesIn, productFiles, projectRoot } from './source-files.ts';

/** A tunnel's document shows the tunnel groups that it serves: a fact of the API, and not of every kind. */
const MAY_NAME_A_KIND = new Set(['src/resources/tunnels/tunnels.ts']);

function foldersIn(path: string): string[] {
  return readdirSync(join(projectRoot, path), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
}

test('every module folder is registered under its own name, and the reverse', () => {
  assert.deepEqual(foldersIn('src/modules'), modules.map((module) => module.name).sort());
});

test('every resource folder is registered under its own name, and the reverse', () => {
  const backendNames = new Set(backends.map((backend) => backend.name));
  const names = resources.map((resource) => resource.name).filter((name) => !backendNames.has(name));
  assert.deepEqual(foldersIn('src/resources'), names.sort());
});

test('every backend kind and destination kind has a folder of its name', () => {
  assert.deepEqual(foldersIn('src/backends'), backends.map((backend) => backend.name).sort());
  assert.deepEqual(foldersIn('src/events/destinations'), destinationKinds.map((kind) => kind.name).sort());
});

test('every backend kind has a definition, tests and a README named after its folder', () => {
  for (const { name } of backends) {
    const file = name.replaceAll('_', '-');
    const there = filesIn(`src/backends/${name}/*`).map((path) => path.split('/')[3]);
    const wanted = ['README.md', `${file}.ts`, `${file}.test.ts`];
    assert.deepEqual(
      wanted.filter((path) => !there.includes(path)),
      [],
      name,
    );
  }
});

test('kinds of backends are named in their folders only', () => {
  const elsewhere = productFiles()
    .filter(({ path }) => !path.startsWith('src/backends/') && !path.includes('/generated/'))
    .filter(({ path }) => !MAY_NAME_A_KIND.has(path))
    .filter(({ text }) => backendRecordKinds.some((kind) => text.includes(`'${kind}'`)));
  assert.deepEqual(
    elsewhere.map(({ path }) => path),
    [],
  );
});

test('every module and every destination kind has a README', () => {
  const readmes = filesIn('src/modules/*/README.md').map((path) => path.split('/')[2]);
  assert.deepEqual(readmes, foldersIn('src/modules'));
  const kinds = filesIn('src/events/destinations/*/README.md').map((path) => path.split('/')[3]);
  assert.deepEqual(kinds, foldersIn('src/events/destinations'));
});

test('id prefixes, kinds and paths are unique', () => {
  for (const field of ['kind', 'path', 'name'] as const) {
    const values = resources.map((resource) => resource[field]);
    assert.equal(new Set(values).size, values.length, field);
  }
  const prefixes = resources.map((resource) => resource.idPrefix).filter((prefix) => prefix !== '');
  assert.equal(new Set(prefixes).size, prefixes.length);
});

test('mutual TLS comes before addresses, addresses before login, login before the backend', () => {
  const order = modules.map((module) => module.name);
  const wanted = ['mutual_tls', 'ip_restriction', 'oidc', 'compression', 'backend'];
  assert.deepEqual(
    order.filter((name) => wanted.includes(name)),
    wanted,
  );
});
