import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '../cli/run-command.ts';
import type { Cleanup } from '../support/cleanup.ts';
import { startServerProcess } from '../support/server-process.ts';
import { isLong } from '../support/share-of-cases.ts';
import { tempDir } from '../support/temp-dir.ts';

const KEY = 'test-api-key-0123456789abcdefghij';
const OBJECTS = isLong ? 300 : 100;

/** Kills the server while it applies a file; afterwards it has all of its objects or none. Returns how many. */
export async function killWhileApplying(test: Cleanup, delayMs: number): Promise<number> {
  const dataDir = await tempDir(test);
  const options = { env: { POSTERN_API_KEY: KEY } };
  const first = startServerProcess(test, dataDir, options);
  const names = Array.from({ length: OBJECTS }, (_, at) => `  policy ${at}: {rules: {10.0.0.0/8: {}}}\n`);
  const file = join(dataDir, 'many.yaml');
  await writeFile(file, `version: 1\nowner: killed\nip_policies:\n${names.join('')}`);
  const env = { POSTERN_CLI_API_URL: (await first.ready()).base_url, POSTERN_CLI_API_KEY: KEY };
  const kill = (): boolean => first.child.kill('SIGKILL');
  const { code } = await runCommand(['apply', '-f', file, '--yes'], {
    env,
    // The last line before the change is sent.
    onLine: (line) => void (/^\d+ added$/.test(line) && setTimeout(kill, delayMs)),
  });
  kill();
  await first.exited;

  const second = startServerProcess(test, dataDir, options);
  const { base_url: url } = await second.ready();
  const headers = { authorization: `Bearer ${KEY}`, 'service-version': '2' };
  const claims = await fetch(`${url}/changesets/claims?owner=killed`, { headers });
  const claimed = ((await claims.json()) as { claims: readonly object[] }).claims.length;
  const planned = await runCommand(['plan', '-f', file], { env: { ...env, POSTERN_CLI_API_URL: url } });
  assert.equal(planned.code, claimed === 0 ? 4 : 0, planned.stdout.slice(-200));
  assert.ok(claimed === 0 || claimed === OBJECTS, `${claimed} of ${OBJECTS} objects`);
  if (claimed === 0) assert.match(planned.stdout, new RegExp(`\n${2 * OBJECTS} added\n$`));
  if (code === 0) assert.equal(claimed, OBJECTS);
  second.child.kill('SIGKILL');
  await second.exited;
  return claimed;
}
