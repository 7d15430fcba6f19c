import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { access, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type PosternProcess, startPostern, startServerProcess } from '../support/server-process.ts';
import type { NonRoot } from './non-root.ts';

const run = promisify(execFile);
const DEADLINE_MS = 60_000;

export interface Installed {
  /** The words that start the program. */
  readonly command: readonly string[];
  readonly user: NonRoot;
}

/** Runs a command to its end, as the user, in the user's home. */
export async function runInstalled({ command, user }: Installed, args: readonly string[], env = {}): Promise<string> {
  const [program = '', ...first] = command;
  const { stdout } = await run(program, [...first, ...args], {
    cwd: user.home,
    env: { ...user.env, ...env },
    ...user.identity,
  });
  return stdout;
}

/**
 * What a new user does on a fresh machine: starts the server, serves a first edge, and opens a tunnel from a folder
 * that has only the file with the CAs. Returns the server.
 */
export async function walk(t: TestContext, installed: Installed, dataDir: string): Promise<PosternProcess> {
  const { command, user } = installed;
  const shared = { command, cwd: user.home, env: user.env, ...user.identity };
  const server = startServerProcess(t, dataDir, shared);
  const { base_url: baseUrl, addresses } = await server.ready();
  const { edge = '', tunnel = '' } = addresses as unknown as Record<string, string>;
  const edgePort = edge.split(':').at(-1);

  const key = (await readFile(join(dataDir, 'first-api-key'), 'utf8')).trim();
  const access = { POSTERN_CLI_API_URL: baseUrl, POSTERN_CLI_API_KEY: key };
  const args = ['api', 'https-edges', 'create', '--hostports', `hello.localhost:${edgePort}`, '--only', 'id'];
  const edgeId = (await runInstalled(installed, args, access)).trim();
  // The rest over HTTP: every command of a cold installation takes a second of CPU.
  const backend = await created(baseUrl, key, '/backends/http_response', { body: 'first page' });
  const route = { match_type: 'path_prefix', match: '/', backend: { backend_id: backend } };
  await created(baseUrl, key, `/edges/https/${edgeId}/routes`, route);
  const cas = join(user.home, 'postern-cas.pem');
  await writeFile(cas, await runInstalled(installed, ['ca', 'print', '--data-dir', dataDir]));
  assert.equal(await fetchPage(`https://hello.localhost:${edgePort}/`, cas), 'first page');

  const service = createServer((_request, response) => response.end('behind NAT'));
  t.after(() => service.close());
  await once(service.listen(0, '127.0.0.1'), 'listening');
  const { port } = service.address() as AddressInfo;
  const token = (await readFile(join(dataDir, 'first-authtoken'), 'utf8')).trim();
  const agent = startPostern(t, {
    ...shared,
    args: ['http', String(port), '--server-addr', tunnel, '--authtoken', token, '--root-ca', cas],
  });
  const [url = ''] = await outputOf(agent, /https:\/\/[a-z0-9-]+\.localhost:\d+/);
  assert.equal(await fetchPage(url, cas), 'behind NAT');
  const [inspector = ''] = await outputOf(agent, /http:\/\/(127\.0\.0\.1|localhost):\d+\S*/);
  assert.match(await (await fetch(inspector)).text(), /<style>/);
  agent.child.kill('SIGTERM');
  assert.equal((await agent.exited).code, 0);
  return server;
}

async function created(baseUrl: string, key: string, path: string, body: object): Promise<string> {
  const headers = { authorization: `Bearer ${key}`, 'service-version': '2', 'content-type': 'application/json' };
  const response = await fetch(`${baseUrl}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  assert.equal(response.status, 201, path);
  return ((await response.json()) as { id: string }).id;
}

/** curl, as a visitor has it: it resolves names below localhost itself. */
async function fetchPage(url: string, ca: string): Promise<string> {
  await access(ca);
  return (await run('curl', ['-sS', '--fail', '--max-time', '30', '--cacert', ca, url])).stdout;
}

async function outputOf(process: PosternProcess, pattern: RegExp): Promise<readonly string[]> {
  const deadlineMs = performance.now() + DEADLINE_MS;
  for (;;) {
    const found = pattern.exec(process.stdout() + process.stderr());
    if (found !== null) return found;
    if (process.child.exitCode !== null || performance.now() > deadlineMs) {
      throw new Error(`${pattern} was not printed:\n${process.stdout()}${process.stderr()}`);
    }
    await sleep(20);
  }
}
