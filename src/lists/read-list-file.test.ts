import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '../../test/support/temp-dir.ts';
import { AddressListProblem } from '../lib/net/address-list/list-problem.ts';
import { readListFile } from './read-list-file.ts';

const LIMITS = { maxBytes: 16 * 1024 * 1024, known: null };
const ROUNDS = 100;

/** The text of a file, or the problem with it. */
async function textOf(folder: string, file: string): Promise<string> {
  try {
    const { bytes } = await readListFile(folder, file, LIMITS);
    return Buffer.from(bytes ?? '').toString();
  } catch (error) {
    assert.ok(error instanceof AddressListProblem, String(error));
    return error.message;
  }
}

test('a pipe is refused at once, although nobody writes to it', async (t) => {
  const folder = await tempDir(t);
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  assert.match(await textOf(folder, 'pipe'), /is not a regular file/);
});

test('a link that changes its target during a read never leads outside', async (t) => {
  const root = await tempDir(t);
  const folder = join(root, 'lists');
  for (const [dir, text] of [
    ['lists/inside', 'inside'],
    ['outside', 'secret'],
  ] as const) {
    mkdirSync(join(root, dir), { recursive: true });
    writeFileSync(join(root, dir, 'list.txt'), text);
  }
  const swap = (target: string): void => {
    symlinkSync(target, join(folder, 'new'));
    renameSync(join(folder, 'new'), join(folder, 'current'));
  };
  swap(join(folder, 'inside'));
  const seen = new Set<string>();
  for (let round = 0; round < ROUNDS; round += 1) {
    const reading = textOf(folder, 'current/list.txt');
    for (let step = 0; step < round % 8; step += 1) await new Promise((resolve) => setImmediate(resolve));
    swap(join(root, 'outside'));
    seen.add(await reading);
    swap(join(folder, 'inside'));
  }
  assert.ok(![...seen].some((text) => text.includes('secret')), [...seen].join('\n'));
});

test('a file that is replaced or rewritten during a read is one of its versions, or read again', async (t) => {
  const folder = await tempDir(t);
  const path = join(folder, 'list.txt');
  const versions = ['a', 'b'].map((letter) => letter.repeat(256 * 1024));
  const write = (at: number, isReplaced: boolean): void => {
    const target = isReplaced ? `${path}.new` : path;
    writeFileSync(target, versions[at % 2] ?? '');
    if (isReplaced) renameSync(target, path);
  };
  write(0, true);
  for (let round = 1; round < ROUNDS / 2; round += 1) {
    const reading = textOf(folder, 'list.txt');
    for (let step = 0; step < round % 8; step += 1) await new Promise((resolve) => setImmediate(resolve));
    write(round, round % 3 === 0);
    const text = await reading;
    assert.ok(versions.includes(text) || /changed while it was read/.test(text), text.slice(0, 200));
  }
});
