import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '../../../test/support/temp-dir.ts';
import { AddressListProblem } from '../../kit/net/address-table.ts';
import { readListFile } from './list-origins.ts';

const LIMITS = { maxBytes: 16 * 1024 * 1024, known: null, nowMs: Date.now() };
const ROUNDS = 50;

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

test('a directory that becomes a link during a read never leads outside', async (t) => {
  const root = await tempDir(t);
  const [inside, moved, outside] = ['lists/inside', 'lists/moved', 'outside'].map((dir) => join(root, dir)) as [
    ...[string, string, string],
  ];
  for (const dir of [inside, outside]) {
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, 'list.txt'), dir === inside ? 'inside' : 'secret');
  }
  const seen = new Set<string>();
  for (let round = 0; round < ROUNDS; round += 1) {
    const reading = textOf(join(root, 'lists'), 'inside/list.txt');
    for (let step = 0; step < round % 8; step += 1) await new Promise((resolve) => setImmediate(resolve));
    renameSync(inside, moved);
    symlinkSync(outside, inside);
    seen.add(await reading);
    rmSync(inside);
    renameSync(moved, inside);
  }
  assert.ok(![...seen].includes('secret'), [...seen].join('\n'));
});

test('a file that is replaced during a read is one of its versions, or read again', async (t) => {
  const folder = await tempDir(t);
  const path = join(folder, 'list.txt');
  const versions = ['a', 'b'].map((letter) => letter.repeat(64 * 1024));
  const replace = (round: number): void => {
    writeFileSync(`${path}.new`, versions[round % 2] ?? '');
    renameSync(`${path}.new`, path);
  };
  replace(0);
  for (let round = 1; round < ROUNDS; round += 1) {
    const reading = textOf(folder, 'list.txt');
    for (let step = 0; step < round % 8; step += 1) await new Promise((resolve) => setImmediate(resolve));
    replace(round);
    const text = await reading;
    assert.ok(versions.includes(text) || /changed while it was read/.test(text), text.slice(0, 200));
  }
});

test('a file that was changed a moment ago is read again, and later only when it changes', async (t) => {
  const folder = await tempDir(t);
  writeFileSync(join(folder, 'list.txt'), '192.0.2.1');
  const read = (known: string | null, nowMs: number) => readListFile(folder, 'list.txt', { ...LIMITS, known, nowMs });
  const { stamp } = await read(null, Date.now());
  // A change to as many bytes may leave all times of the file as they were.
  const again = await read(stamp, Date.now() + 5_000);
  assert.notEqual(again.bytes, null);
  assert.equal((await read(again.stamp, Date.now() + 10_000)).bytes, null);
});
