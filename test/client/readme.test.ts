import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { tempDir } from '../support/temp-dir.ts';
import { TEST_API_KEY, TestWorld } from '../support/test-world.ts';

const run = promisify(execFile);
const README = new URL('../../src/client/README.md', import.meta.url);
const CLIENT = new URL('../../src/client/index.ts', import.meta.url);

test('every example of the README runs', async (t) => {
  const world = await TestWorld.open(t);
  const folder = await tempDir(t);
  const text = await readFile(README, 'utf8');
  const examples = Array.from(text.matchAll(/^```ts\n([\s\S]*?)^```$/gm), ([, code]) => code as string);
  assert.ok(examples.length >= 4);
  const files = examples.map((_, index) => join(folder, `example-${index}.ts`));
  for (const [index, code] of examples.entries()) {
    await writeFile(files[index] as string, code.replaceAll("'postern/client'", JSON.stringify(CLIENT.href)));
  }
  const all = join(folder, 'all.ts');
  await writeFile(all, files.map((file) => `await import(${JSON.stringify(file)});\n`).join(''));
  const env = { ...process.env, POSTERN_CLI_API_URL: world.baseUrl, POSTERN_CLI_API_KEY: TEST_API_KEY };
  const { stdout } = await run(process.execPath, [all], { env });
  assert.match(stdout, /app\.localhost:7443/);
  assert.match(stdout, /somebody else changed it first/);
  assert.match(stdout, /ERR_POSTERN_INVALID_BODY 400 op_\w+ \/hostports/);
  assert.doesNotMatch(stdout, new RegExp(TEST_API_KEY));
});
