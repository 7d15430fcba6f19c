import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { firstOf } from '../support/share-of-cases.ts';

const root = new URL('../../', import.meta.url);
const TOOL = fileURLToPath(new URL('tools/dev-idp.ts', root));

function startTool(t: TestContext, ...args: readonly string[]) {
  const child = spawn(process.execPath, [TOOL, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output.stderr += text;
  });
  const exited = once(child, 'close').then(([code]) => code as number | null);
  t.after(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  /** When the whole greeting has arrived, or the process has ended. */
  const greeted = async (): Promise<void> => {
    while (!output.stdout.includes('docs/tutorials/3-first-login.md') && child.exitCode === null) {
      await Promise.race([once(child.stdout, 'data'), exited]);
    }
  };
  return { child, output, exited, greeted };
}

test('dev-idp prints instructions, serves, and ends on command', async (t) => {
  for (const signal of firstOf(['SIGINT', 'SIGTERM'] as const)) {
    const uris = ['https://a.localhost:1/.postern/callback', 'https://b.localhost:2/.postern/callback'];
    const { child, output, exited, greeted } = startTool(
      t,
      '--port',
      '0',
      ...uris.flatMap((uri) => ['--redirect-uri', uri]),
    );
    await greeted();
    for (const uri of uris) assert.ok(output.stdout.includes(uri), output.stdout);
    const issuer = /issuer +(http:\/\/127\.0\.0\.1:\d+)\n/.exec(output.stdout)?.[1];
    assert.ok(output.stdout.includes(`postern api oidc replace --edge "$EDGE" --route "$ROUTE" --issuer ${issuer} `));
    const discovery = await fetch(`${issuer}/.well-known/openid-configuration`);
    assert.equal(((await discovery.json()) as { issuer: string }).issuer, issuer);
    child.kill(signal);
    assert.equal(await exited, 0);
    assert.equal(output.stderr, '');
  }
});

test('dev-idp rejects unknown arguments, and a port in use', async (t) => {
  const first = startTool(t, '--port', '0');
  await first.greeted();
  const port = /127\.0\.0\.1:(\d+)/.exec(first.output.stdout)?.[1] ?? '';
  const wrong = [
    [['--port', port], /is in use/],
    [['--prot', '1'], /--prot/],
    [['--port', 'x'], /--port must be/],
    [['--redirect-uri', 'app.localhost'], /--redirect-uri must be/],
  ] as const;
  for (const [args, words] of firstOf(wrong, 2)) {
    const { exited, output } = startTool(t, ...args);
    assert.equal(await exited, 2);
    assert.match(output.stderr, words);
  }
});

test('the walk-through describes the provider as it prints itself', async (t) => {
  const { output, greeted } = startTool(t, '--port', '0');
  await greeted();
  const walkThrough = await readFile(new URL('docs/tutorials/3-first-login.md', root), 'utf8');
  for (const name of ['client id', 'client secret', 'redirect URI']) {
    const value = new RegExp(`${name} +(\\S+)\n`).exec(output.stdout)?.[1];
    assert.ok(value !== undefined && walkThrough.includes(value), `${name}: ${value}`);
  }
});
