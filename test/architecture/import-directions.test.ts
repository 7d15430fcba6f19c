import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { roomOf } from '../../tools/generators/rooms.ts';
import { IMPORT_DIRECTIONS, partOf, ROOMS } from './import-directions.ts';
import { filesIn, productFiles, projectRoot, reachedFrom } from './source-files.ts';

const files = productFiles();

const rooms = Object.keys(ROOMS);

suite('the rooms of src', () => {
  test('are its folders', () => {
    assert.deepEqual([...new Set(filesIn('src/*/**/*').map(roomOf))].sort(), rooms.toSorted());
  });

  test('may import only rooms that stand before them', () => {
    const wrong = Object.entries(ROOMS).flatMap(([room, { mayImport }], at) =>
      mayImport.filter((other) => !rooms.slice(0, at).includes(other)).map((other) => `${room} → ${other}`),
    );
    assert.deepEqual(wrong, []);
  });

  test('import what they may, types too, and all of it', () => {
    const found = files.flatMap(({ path, imports }) =>
      imports
        .filter(({ target, isOwn }) => isOwn && roomOf(target) !== roomOf(path))
        .map(({ target }) => ({ direction: `${roomOf(path)} → ${roomOf(target)}`, line: `${path} imports ${target}` })),
    );
    const allowed = Object.entries(ROOMS).flatMap(([room, { mayImport }]) => mayImport.map((to) => `${room} → ${to}`));
    assert.deepEqual(
      found.filter(({ direction }) => !allowed.includes(direction)).map(({ line }) => line),
      [],
      'declare what it needs in its own room, or pass it in',
    );
    const used = new Set(found.map(({ direction }) => direction));
    assert.deepEqual(
      allowed.filter((direction) => !used.has(direction)),
      [],
      'remove these from test/architecture/import-directions.ts and ARCHITECTURE.md',
    );
  });

  test('open ARCHITECTURE.md', () => {
    const page = readFileSync(join(projectRoot, 'ARCHITECTURE.md'), 'utf8');
    const rows = Array.from(
      page.slice(0, page.indexOf('## Where is')).matchAll(/^\| `src\/([a-z]+)` \| (.*) \| ([^|]*) \|$/gm),
      ([, room = '', what = '', list = '']) => ({ room, what, mayImport: list === 'nothing' ? [] : list.split(', ') }),
    );
    assert.deepEqual(
      rows,
      Object.entries(ROOMS).map(([room, known]) => ({ room, ...known })),
    );
  });
});

suite('the table of import directions', () => {
  test('imports go only in the directions that are allowed', () => {
    const wrong = files.flatMap((file) =>
      file.imports
        .filter((line) => line.isOwn)
        .map((line) => [partOf(file.path), partOf(line.target), line.target] as const)
        .filter(([from, to]) => from !== to && !(IMPORT_DIRECTIONS[from] ?? []).includes(to))
        .map(([, , target]) => `${file.path} imports ${target}`),
    );
    assert.deepEqual(wrong, []);
  });

  test('has a row for every part of src, and for no other', () => {
    const parts = new Set(filesIn('src/**/*.ts').map(partOf));
    assert.deepEqual(Object.keys(IMPORT_DIRECTIONS).sort(), [...parts].sort());
  });

  test('allows nothing that no file uses', () => {
    const used = new Set(
      files.flatMap(({ path, imports }) => imports.map(({ target }) => `${partOf(path)} → ${partOf(target)}`)),
    );
    const allowed = Object.entries(IMPORT_DIRECTIONS).flatMap(([from, all]) => all.map((to) => `${from} → ${to}`));
    assert.deepEqual(
      allowed.filter((direction) => !used.has(direction)),
      [],
      'remove these from test/architecture/import-directions.ts and ARCHITECTURE.md',
    );
  });

  test('is the one that ARCHITECTURE.md shows', () => {
    const page = readFileSync(join(projectRoot, 'ARCHITECTURE.md'), 'utf8');
    const text = page.slice(page.indexOf('## The parts of the rooms'), page.indexOf('## What runs where'));
    const rows = Array.from(
      text.matchAll(/^\| `src\/([a-z/-]+)(?:\.ts)?` \|.*\| ([^|]*) \|$/gm),
      ([, part = '', list = '']) => [part, list === 'nothing' ? [] : list.split(', ').sort()],
    );
    const expected = Object.entries(IMPORT_DIRECTIONS).map(([part, all]) => [part, [...all].sort()]);
    assert.deepEqual(Object.fromEntries(rows), Object.fromEntries(expected));
  });
});

test('the edge runs without the store, the replica of the store and the API', () => {
  const edge = files.map(({ path }) => path).filter((path) => path.startsWith('src/proxy/edge/'));
  const reached = reachedFrom(files, edge);
  assert.deepEqual(
    [...reached].filter((path) => /^(store|control\/(api|documents)|app\/main)(\/|$)/.test(partOf(path))),
    [],
  );
});
