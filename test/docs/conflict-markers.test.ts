import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { projectRoot } from './markdown.ts';

/** A rebase once left the markers of a conflict in a page, and no other check noticed. */
test('no file contains the markers of a merge conflict', () => {
  const found = spawnSync('git', ['grep', '--untracked', '-nIE', '^(<<<<<<<|>>>>>>>) '], { cwd: projectRoot });
  assert.equal(found.stdout.toString(), '');
  // Status 1: nothing was found.
  assert.equal(found.status, 1, found.stderr.toString());
});
