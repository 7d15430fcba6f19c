import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { bundledProgram } from '../../../tools/test-runner/bundled-program.ts';
import { startServerProcess } from '../../support/server-process.ts';
import { tempDir } from '../../support/temp-dir.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

test('a server whose program was replaced on disk fails only the request that needs another part of it', async (t) => {
  const folder = await tempDir(t);
  const launcher = bundledProgram(root, folder);
  const server = startServerProcess(t, join(folder, 'data'), { launcher });
  const { base_url } = await server.ready();
  // An upgrade in place removes the files of the old version, whose names contain a hash of their content.
  await rm(join(folder, 'dist'), { recursive: true });
  for (const path of ['/openapi.json', '/docs']) {
    const refused = await fetch(`${base_url}${path}`);
    assert.equal(refused.status, 503, path);
    const { error_code: code, msg } = (await refused.json()) as { readonly error_code: string; readonly msg: string };
    assert.equal(code, 'ERR_POSTERN_PROGRAM_REPLACED');
    assert.match(msg, /postern restart/);
  }
  assert.equal((await fetch(`${base_url}/healthz`)).status, 200);
  server.child.kill('SIGTERM');
  assert.deepEqual(await server.exited, { code: 0, signal: null });
  assert(!server.lines().some((line) => Number(line['level']) >= 50 || line['level'] === 'error'), server.stdout());
});
