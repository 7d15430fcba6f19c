import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { tempDir } from '../../test/support/temp-dir.ts';
import { PosternError } from './errors.ts';
import { loadPart } from './load-part.ts';

test('a part that an upgrade removed fails one call with what to do, and is loaded when it is back', async (t) => {
  const file = join(await tempDir(t), 'part-1a2b.mjs');
  const load = () => loadPart(() => import(pathToFileURL(file).href) as Promise<{ readonly name: string }>);
  await assert.rejects(load(), (error) => {
    assert(error instanceof PosternError);
    assert.equal(error.code, 'ERR_POSTERN_PROGRAM_REPLACED');
    assert.match(error.message, /postern restart/);
    return true;
  });
  await writeFile(file, "export const name = 'part';");
  assert.equal((await load()).name, 'part');
  await rm(file);
  assert.equal((await load()).name, 'part', 'a loaded part needs no file');
});

test("an error of the part's own code is passed on", async () => {
  await assert.rejects(
    loadPart(() => Promise.reject(new TypeError('wrong'))),
    /^TypeError: wrong$/,
  );
});
