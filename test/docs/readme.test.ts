import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Cleanup } from '../support/cleanup.ts';
import { type PosternProcess, startServerProcess } from '../support/server-process.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

/** Shell blocks of the README, in their order. */
async function shellBlocks(): Promise<readonly string[]> {
  const text = await readFile(join(root, 'README.md'), 'utf8');
  return Array.from(text.matchAll(/^```sh\n([\s\S]*?)^```$/gm), (match) => match[1] ?? '');
}

/** Hooks made inside a hook would belong to the test that runs next. */
const tasks: (() => Promise<void>)[] = [];
const cleanup: Cleanup = { after: (task) => tasks.push(task) };
let folder: string;
let server: PosternProcess;
let env: Record<string, string>;

before(async () => {
  // The checkout as a newcomer has it, but for the work tree: what is written must land in a folder of the test's own.
  folder = await mkdtemp(join(tmpdir(), 'postern-test-readme-'));
  for (const name of ['bin', 'src', 'package.json', 'package-lock.json'])
    await cp(join(root, name), join(folder, name), { recursive: true });
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  server = startServerProcess(cleanup, 'postern-data', { cwd: folder, launcher: join(folder, 'bin', 'postern.mjs') });
  const ready = await server.ready();
  // The README's edge listens on 7443; the test's on a free port.
  const edgePort = String((ready.addresses as { edge?: string }).edge)
    .split(':')
    .at(-1);
  await writeFile(join(folder, '.curlrc'), `connect-to = "app.localhost:7443:127.0.0.1:${edgePort}"\n`);
  const apiKey = (await readFile(join(folder, 'postern-data', 'first-api-key'), 'utf8')).trim();
  env = { PATH: process.env['PATH'] ?? '', HOME: folder, POSTERN_API_URL: ready.base_url, POSTERN_API_KEY: apiKey };
});

after(async () => {
  for (const task of tasks) await task();
  await rm(folder, { recursive: true, force: true });
});

async function shell(script: string, extra: Readonly<Record<string, string>> = {}): Promise<string> {
  const { stdout } = await run('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
    cwd: folder,
    env: { ...env, ...extra },
  });
  return stdout;
}

test('the README starts with the two commands, and ends with those that CI runs', async () => {
  const blocks = await shellBlocks();
  assert.equal(blocks[0], 'npm ci\nnpm start\n');
  assert.equal(blocks.at(-1), 'npm run check\nnpm test\n');
  const ci = await readFile(join(root, '.ci', 'run'), 'utf8');
  for (const command of ['npm ci', 'npm run check', 'npm test']) assert.match(ci, new RegExp(`^${command}$`, 'm'));
});

test('the first edge of the README can be made as written', async () => {
  const block = (await shellBlocks()).find((text) => text.includes('https-edges create'));
  const output = await shell(block ?? 'false');
  assert.match(output, /app\.localhost:7443/);
  const { https_edges: edges } = JSON.parse(output.slice(output.lastIndexOf('{"https_edges"'))) as {
    https_edges: { routes: { compression: object; backend: object }[] }[];
  };
  assert.equal(edges.length, 1);
  assert.ok(edges[0]?.routes[0]?.compression);
  assert.ok(edges[0]?.routes[0]?.backend);
});

test('the commands find the first key by themselves on the machine of the server', async () => {
  const output = await shell('node bin/postern.mjs api api-keys list --json', { POSTERN_API_KEY: '' });
  assert.equal((JSON.parse(output) as { keys: unknown[] }).keys.length, 1);
});

test('the edge of the README is reached over verified TLS', async () => {
  const block = (await shellBlocks()).find((text) => text.includes('ca print'));
  // Nothing need listen on port 3000 here: that the edge says so shows that the request went its whole way.
  assert.match(await shell(block ?? 'false'), /ERR_POSTERN_UPSTREAM_UNREACHABLE|</);
});

test('the curl command of the README works', async () => {
  const block = (await shellBlocks()).find((text) => text.startsWith('curl -sS'));
  assert.match(await shell(block ?? 'false'), /"https_edges":\[/);
});

test('the first tunnel of the README opens as written', async (t) => {
  const block = (await shellBlocks()).find((text) => text.includes('postern http 3000')) ?? 'false';
  const { addresses } = await server.ready();
  const { tunnel } = addresses as unknown as { tunnel: string };
  // The shell makes way for the command, which then ends with the test.
  const script = block.replace('postern http 3000', 'exec node bin/postern.mjs http 3000');
  const output = await firstLines(t, script, folder, { ...env, POSTERN_SERVER_ADDR: tunnel });
  assert.match(output, /https:\/\/[a-z0-9-]+\.localhost:\d+/);
});

/** What an agent prints up to its address; it ends with the test. */
async function firstLines(t: TestContext, script: string, cwd: string, environment: Record<string, string>) {
  const agent = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
    cwd,
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<void>((resolve) => agent.once('exit', () => resolve()));
  t.after(async () => {
    agent.kill('SIGTERM');
    await ended;
  });
  let output = '';
  for await (const chunk of agent.stdout) {
    output += String(chunk);
    if (/https:\/\/\S+\.localhost/.test(output)) break;
  }
  return output;
}

test('an agent on another machine opens a tunnel as written, with the one file that ca print gives', async (t) => {
  const blocks = await shellBlocks();
  await shell(blocks.find((text) => text.startsWith("# on the server's machine\n")) ?? 'false');
  const { addresses } = await server.ready();
  const { tunnel } = addresses as unknown as { tunnel: string };
  // A folder of its own: nothing of the server's is beside the agent but the file that was copied.
  const elsewhere = await mkdtemp(join(tmpdir(), 'postern-test-elsewhere-'));
  t.after(() => rm(elsewhere, { recursive: true, force: true }));
  await cp(join(folder, 'postern-cas.pem'), join(elsewhere, 'postern-cas.pem'));
  const TOKEN = (await readFile(join(folder, 'postern-data', 'first-authtoken'), 'utf8')).trim();
  const script = (blocks.find((text) => text.startsWith('# on the other machine')) ?? 'false')
    .replace('node bin/postern.mjs', `exec node ${join(folder, 'bin', 'postern.mjs')}`)
    .replace('gateway.example.com:7444', tunnel);
  const environment = { PATH: env['PATH'] ?? '', HOME: elsewhere, TOKEN };
  assert.match(await firstLines(t, script, elsewhere, environment), /https:\/\/[a-z0-9-]+\.localhost:\d+/);
});

test('a key with scopes can be made as written', async () => {
  const command = /`(postern api api-keys create [^`]+)`/.exec(await readFile(join(root, 'README.md'), 'utf8'))?.[1];
  const output = await shell(`postern() { node bin/postern.mjs "$@"; }\n${command ?? 'false'}`);
  assert.match(output, /edges:read/);
});

test('backup and restore work as written', async () => {
  const block = (await shellBlocks()).find((text) => text.includes('store backup'));
  await shell(block ?? 'false');
  const copy = startServerProcess(cleanup, 'restored', { cwd: folder, launcher: join(folder, 'bin', 'postern.mjs') });
  const { base_url: url } = await copy.ready();
  const output = await shell('node bin/postern.mjs api https-edges list --only hostports', { POSTERN_API_URL: url });
  assert.equal(output.trim(), '["app.localhost:7443"]');
});
