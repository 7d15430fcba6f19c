import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { MOUNTING_REFUSED, mountSmallDisk } from '../../test/store/small-disk.ts';
import { tempDir } from '../../test/support/temp-dir.ts';
import { makeDataDirectory, prepareDataDir } from './data-directory.ts';

test('a data directory that is a file, or is inside one, is named as that', async (t) => {
  const file = join(await tempDir(t), 'data');
  await writeFile(file, '');
  for (const path of [file, join(file, 'inside')])
    await assert.rejects(prepareDataDir(path), /is a file and not a directory\). Set another with data_dir/);
});

test('a data directory below one that takes none is refused at once', async () => {
  const startedMs = performance.now();
  await assert.rejects(
    prepareDataDir('/proc/nope/data'),
    /cannot use the data directory \/proc\/nope\/data \(nothing can be made there\)\. Set another with data_dir/,
  );
  assert.throws(() => makeDataDirectory('/proc/nope'), /ENOENT/);
  assert(performance.now() - startedMs < 5_000);
});

test('a data directory on a file system that is mounted read-only is named as that', async (t) => {
  const disk = mountSmallDisk(t, 1);
  if (disk === null || spawnSync('mount', ['-o', 'remount,ro', disk]).status !== 0) {
    t.skip(MOUNTING_REFUSED);
    return;
  }
  await assert.rejects(prepareDataDir(disk), /is mounted read-only.*Mount it read-write/);
});
