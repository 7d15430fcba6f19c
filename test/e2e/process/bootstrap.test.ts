import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startServerProcess } from '../../support/server-process.ts';
import { tempDir } from '../../support/temp-dir.ts';

/** A process that does not end must fail the test, not hang it. */
const TIMEOUT_MS = 240_000;

const root = fileURLToPath(new URL('../../..', import.meta.url));
const FILES = ['first-api-key', 'first-authtoken'];

suite('bootstrap', { timeout: TIMEOUT_MS }, () => {
  test('writes generated secrets once to 0600 files that the log names, and nowhere else', async (t) => {
    const dataDir = await tempDir(t);
    const first = startServerProcess(t, dataDir);
    await first.ready();
    const tokens = await Promise.all(FILES.map(async (name) => (await readFile(join(dataDir, name), 'utf8')).trim()));
    for (const [index, name] of FILES.entries()) {
      assert.equal((await stat(join(dataDir, name))).mode & 0o777, 0o600);
      assert.match(tokens[index] ?? '', /^[\x21-\x7e]{32,200}$/);
      assert(first.lines().some((line) => line['file'] === join(dataDir, name)));
    }
    first.child.kill('SIGTERM');
    await first.exited;
    const second = startServerProcess(t, dataDir);
    await second.ready();
    second.child.kill('SIGTERM');
    await second.exited;
    assert(!second.lines().some((line) => 'file' in line), 'made again');
    const again = await Promise.all(FILES.map(async (name) => (await readFile(join(dataDir, name), 'utf8')).trim()));
    assert.deepEqual(again, tokens);
    const output = first.stdout() + first.stderr() + second.stdout() + second.stderr();
    for (const token of tokens) assert(!output.includes(token), 'a secret in the log');
  });

  test('shows a person at a terminal where the generated secrets are, and the next command', async (t) => {
    const dataDir = await tempDir(t);
    const command = `'${process.execPath}' bin/postern.mjs server --data-dir '${dataDir}' --api-listen 127.0.0.1:0 --edge-listen 127.0.0.1:0 --edge-http-listen 127.0.0.1:0 --tunnel-listen 127.0.0.1:0`;
    const terminal = spawn('script', ['-qefc', command, '/dev/null'], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    t.after(() => terminal.kill('SIGKILL'));
    let output = '';
    for await (const text of terminal.stdout.setEncoding('utf8')) {
      output += text as string;
      if (output.includes(' edge app.localhost')) break;
    }
    const [, file = ''] = /API key +in (\S+)/.exec(output) ?? [];
    assert.match(await readFile(file, 'utf8'), /^postern_ak_[\w-]{43}\n$/);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.doesNotMatch(output, /postern_(ak|cr)_/);
    assert.match(output, /API +http:\/\/127\.0\.0\.1:\d+/);
    assert.match(output, /node bin\/postern\.mjs edge app\.localhost:\d+ --to 3000/);
  });

  test('accepts preset secrets without storing them in files, and accepts them again; warns about others', async (t) => {
    const dataDir = await tempDir(t);
    const env = { POSTERN_API_KEY: `preset-${'k'.repeat(32)}`, POSTERN_AUTHTOKEN: `preset-${'t'.repeat(32)}` };
    const first = startServerProcess(t, dataDir, { env });
    await first.ready();
    assert(!first.lines().some((line) => line['level'] === 'warn'));
    first.child.kill('SIGTERM');
    await first.exited;
    assert.deepEqual(
      (await readdir(dataDir)).filter((name) => name.startsWith('first-')),
      [],
    );
    for (const entry of await readdir(dataDir, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const file = join(entry.parentPath, entry.name);
      assert(!(await readFile(file)).includes('preset-'), `a preset secret in ${file}`);
    }
    const second = startServerProcess(t, dataDir, { env });
    await second.ready();
    const said = (server: typeof second, level: string) =>
      server.lines().flatMap((line) => (line['level'] === level ? [String(line['msg'])] : []));
    assert.deepEqual(said(second, 'warn'), [], 'a container keeps its settings');
    assert.equal(said(second, 'info').filter((text) => text.includes('is no longer needed')).length, 2);
    second.child.kill('SIGTERM');
    await second.exited;
    const others = { POSTERN_API_KEY: `preset-${'o'.repeat(32)}`, POSTERN_AUTHTOKEN: `preset-${'p'.repeat(32)}` };
    const third = startServerProcess(t, dataDir, { env: others });
    await third.ready();
    assert.deepEqual(
      said(third, 'warn').map((text) => text.replace(/ is ignored.*/, '')),
      ['the setting api_key', 'the setting authtoken'],
    );
    assert(![second, third].some((server) => server.stdout().includes('preset-')));
  });
});
