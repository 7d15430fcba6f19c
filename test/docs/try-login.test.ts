import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Cleanup } from '../support/cleanup.ts';
import { startServerProcess } from '../support/server-process.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

/** Hooks made inside a hook would belong to the test that runs next. */
const tasks: (() => Promise<void>)[] = [];
const cleanup: Cleanup = { after: (task) => tasks.push(task) };
let blocks: readonly string[];
let folder: string;
let issuer: string;
let env: Record<string, string>;

before(async () => {
  const text = await readFile(join(root, 'docs', 'tutorials', '3-first-login.md'), 'utf8');
  blocks = Array.from(text.matchAll(/^```sh\n([\s\S]*?)^```$/gm), (match) => match[1] ?? '');
  // The checkout as a newcomer has it, but for the work tree: what is written must land in a folder of the test's own.
  folder = await mkdtemp(join(tmpdir(), 'postern-test-try-login-'));
  for (const name of ['bin', 'src', 'package.json', 'package-lock.json'])
    await cp(join(root, name), join(folder, name), { recursive: true });
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  const server = startServerProcess(cleanup, 'postern-data', {
    cwd: folder,
    launcher: join(folder, 'bin', 'postern.mjs'),
  });
  const ready = await server.ready();
  const edgePort = String((ready.addresses as { edge?: string }).edge)
    .split(':')
    .at(-1);
  // The page's edge and provider have ports of their own; the test's are free ones.
  await writeFile(join(folder, '.curlrc'), `connect-to = "app.localhost:7443:127.0.0.1:${edgePort}"\n`);
  issuer = await startProvider();
  const apiKey = (await readFile(join(folder, 'postern-data', 'first-api-key'), 'utf8')).trim();
  env = { PATH: process.env['PATH'] ?? '', HOME: folder, POSTERN_API_URL: ready.base_url, POSTERN_API_KEY: apiKey };
});

after(async () => {
  for (const task of tasks) await task();
  await rm(folder, { recursive: true, force: true });
});

/** What `npm run dev-idp` runs, on a free port; answers the issuer that it prints. */
async function startProvider(): Promise<string> {
  const child = spawn(process.execPath, [join(root, 'tools', 'dev-idp.ts'), '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'close');
  cleanup.after(async () => {
    child.kill('SIGTERM');
    await exited;
  });
  for await (const line of createInterface(child.stdout)) {
    const printed = /^ +issuer +(\S+)$/.exec(line)?.[1];
    if (printed !== undefined) return printed;
  }
  throw new Error('the provider ended before it said its issuer');
}

test('the page begins with the commands that package.json has', async () => {
  assert.deepEqual(blocks.slice(0, 2), ['npm ci\nnpm run dev-idp\n', 'npm start\n']);
  const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { scripts: object };
  assert.ok('dev-idp' in scripts && 'start' in scripts);
});

test('all commands of the third terminal run as written, one after the other', async () => {
  const [edge = '', open = '', login = '', closed = '', who = '', tidy = '', ...more] = blocks.slice(2);
  assert.deepEqual(more, [], 'a new block wants a look here');
  assert.match(login, /--issuer http:\/\/127\.0\.0\.1:7090 /);
  const mark = (name: string): string => `printf '\\n== ${name}\\n'\n`;
  const script = [
    edge,
    mark('open'),
    open,
    mark('login'),
    login.replace('http://127.0.0.1:7090', issuer),
    mark('closed'),
    closed,
    mark('provider'),
    // What the browser does first: the way to the provider must exist, with the redirect URI that dev-idp knows.
    `curl -s -o /dev/null -w '%{redirect_url}\\n' --cacert postern-ca.pem 'https://app.localhost:7443/.postern/login?to=/&go=1'\n`,
    mark('who'),
    who,
    mark('tidy'),
    tidy,
    mark('left'),
    'postern api https-edges list --json; ls\n',
  ].join('');
  const { stdout } = await run('bash', ['--norc', '-euo', 'pipefail', '-c', script], { cwd: folder, env });
  const parts = new Map(
    stdout
      .split(/^== /m)
      .slice(1)
      .map((part) => [part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('\n') + 1).trimEnd()]),
  );
  assert.equal(parts.get('open'), 'Only for those who have logged in.');
  assert.match(parts.get('closed') ?? '', /"error_code":"ERR_POSTERN_LOGIN_REQUIRED","status_code":401/);
  const authorization = new URL(parts.get('provider') ?? '');
  assert.equal(authorization.origin, issuer);
  const atProvider = await fetch(authorization, { redirect: 'manual' });
  assert.match(atProvider.headers.get('location') ?? '', /\/interaction\//);
  assert.match(parts.get('left') ?? '', /"https_edges":\[\]/);
  assert.doesNotMatch(parts.get('left') ?? '', /postern-ca\.pem/);
});
