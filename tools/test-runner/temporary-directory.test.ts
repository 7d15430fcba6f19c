import assert from 'node:assert/strict';
import { existsSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { suite, test } from 'node:test';
import { makeTemporaryDirectory } from './temporary-directory.ts';

suite('the directory of a run', () => {
  test('is on the disk if asked for, and open to other users as /tmp is', (t) => {
    const path = makeTemporaryDirectory('postern-run-', { isOnDisk: true });
    t.after(() => rmSync(path, { recursive: true }));
    assert.equal(dirname(path), tmpdir());
    assert.equal(statSync(path).mode & 0o7777, 0o1777);
  });

  test('takes the place of what an ended run left in memory, and of no other', (t) => {
    const used = makeTemporaryDirectory('postern-run-', { isOnDisk: false });
    t.after(() => rmSync(used, { recursive: true }));
    // Where there is too little memory, the directory is on the disk, and so is what is left.
    if (dirname(used) === tmpdir()) return;
    const abandoned = `${dirname(used)}/postern-run-4194305-left`;
    mkdirSync(abandoned, { recursive: true });
    t.after(() => rmSync(abandoned, { recursive: true, force: true }));
    const next = makeTemporaryDirectory('postern-run-', { isOnDisk: false });
    t.after(() => rmSync(next, { recursive: true }));
    assert.deepEqual([used, next, abandoned].map(existsSync), [true, true, false]);
  });
});
