import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '../../test/support/temp-dir.ts';
import { prepareDataDir } from './prepare-data-dir.ts';

test('a data directory that is a file, or is inside one, is named as that', async (t) => {
  const file = join(await tempDir(t), 'data');
  await writeFile(file, '');
  for (const path of [file, join(file, 'inside')])
    await assert.rejects(prepareDataDir(path), /is a file and not a directory\). Set another with data_dir/);
});
