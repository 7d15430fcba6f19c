import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { type AddressInfo, connect, createServer as createTcpServer, type Server } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import type { Cleanup } from '../support/cleanup.ts';
import { type PosternProcess, startPostern, startServerProcess } from '../support/server-process.ts';
import { tempDir } from '../support/temp-dir.ts';

const WAIT_MS = 20_000;

interface AgentServer {
  readonly dataDir: string;
  readonly tunnelAddr: string;
  readonly api: string;
  readonly apiKey: string;
  readonly server: PosternProcess;
}

async function startWithGateway(t: Cleanup): Promise<AgentServer> {
  const dataDir = await tempDir(t);
  const server = startServerProcess(t, dataDir, { args: ['--tcp-ports', '127.0.0.1:20950-20959'] });
  const { addresses, base_url: api } = await server.ready();
  const apiKey = (await readFile(join(dataDir, 'first-api-key'), 'utf8')).trim();
  const tunnelAddr = (addresses as unknown as Record<string, string>)['tunnel'] as string;
  return { dataDir, tunnelAddr, api, apiKey, server };
}

/** Runs without anybody's configuration file, with the environment of a user on the server's machine. */
function startAgent(t: Cleanup, { dataDir, tunnelAddr }: AgentServer, args: readonly string[]): PosternProcess {
  const [command = '', ...rest] = args;
  const flags = ['--server-addr', tunnelAddr, '--inspect-addr', '127.0.0.1:0', '--log-format', 'json'];
  return startPostern(t, {
    args: [command, ...rest, ...flags],
    cwd: dataDir,
    env: { POSTERN_DATA_DIR: dataDir, HOME: dataDir, XDG_CONFIG_HOME: '' },
  });
}

async function lineOf(
  agent: PosternProcess,
  fits: (line: Record<string, unknown>) => boolean,
): Promise<Record<string, unknown>> {
  const signal = AbortSignal.timeout(WAIT_MS);
  for (;;) {
    const found = agent.lines().find(fits);
    if (found !== undefined) return found;
    const { child } = agent;
    const output = (): string => `${agent.stdout()}${agent.stderr()}`;
    assert.ok(child.exitCode === null && child.stdout !== null, `it ended:\n${output()}`);
    await Promise.race([once(child.stdout, 'data', { signal }), agent.exited]).catch(() =>
      assert.fail(`no such line:\n${output()}`),
    );
  }
}

async function listening(t: Cleanup, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

async function get(url: string, dataDir: string): Promise<{ status: number | undefined; body: string }> {
  const { hostname, port, pathname } = new URL(url);
  const ca = await readFile(join(dataDir, 'internal-ca', 'domain-localhost', 'certificate.pem'), 'utf8');
  const request = httpsRequest({ host: '127.0.0.1', port, path: pathname, servername: hostname, ca, agent: false });
  request.setHeader('host', `${hostname}:${port}`);
  request.end();
  const [response] = await once(request, 'response');
  return { status: response.statusCode, body: await text(response) };
}

async function tunnelsOf({ api, apiKey }: AgentServer): Promise<readonly Record<string, unknown>[]> {
  const headers = { authorization: `Bearer ${apiKey}`, 'service-version': '2' };
  const response = await fetch(`${api}/tunnels`, { headers });
  const body = (await response.json()) as { tunnels: Record<string, unknown>[] };
  return body.tunnels;
}

test('agents of one server', async (t) => {
  const world = await startWithGateway(t);
  await t.test(
    "postern http on the server's machine needs no flags, and Ctrl-C removes the tunnel immediately",
    async (t) => {
      const service = createServer((message, response) => response.end(`hello ${message.url}`));
      const port = await listening(t, service);
      const agent = startAgent(t, world, ['http', String(port), '--metadata', 'mine', '--compression']);
      const bound = await lineOf(agent, ({ event }) => event === 'bound');
      const url = String(bound['url']);
      assert.match(url, /^https:\/\/[a-z0-9-]+\.localhost:\d+$/);
      assert.deepEqual(await get(`${url}/there`, world.dataDir), { status: 200, body: 'hello /there' });
      const request = await lineOf(agent, ({ event }) => event === 'request');
      assert.deepEqual([request['path'], request['status'], request['tunnel']], ['/there', 200, 'http']);
      const [tunnel] = await tunnelsOf(world);
      assert.deepEqual([tunnel?.['public_url'], tunnel?.['metadata'], tunnel?.['proto']], [url, 'mine', 'https']);

      const inspector = await lineOf(agent, ({ msg }) => String(msg).startsWith('inspector at'));
      const inspectorUrl = String(inspector['msg']).slice('inspector at '.length);
      const kept = (await (await fetch(`${inspectorUrl}/api/requests/http`)).json()) as { requests: unknown[] };
      assert.equal(kept.requests.length, 1);

      agent.child.kill('SIGINT');
      assert.deepEqual(await agent.exited, { code: 0, signal: null });
      assert.deepEqual(await tunnelsOf(world), []);
      assert.equal(agent.stderr(), '');
    },
  );

  await t.test('without file descriptors: the agent and the page say so, and how to get more', async (t) => {
    const port = await listening(t, createServer());
    const agent = startAgent(t, world, ['http', String(port)]);
    const bound = await lineOf(agent, ({ event }) => event === 'bound');
    // Soft: those that are open stay.
    const { status, stderr } = spawnSync('prlimit', ['--pid', String(agent.child.pid), '--nofile=8:']);
    assert.equal(status, 0, String(stderr));
    const page = await get(String(bound['url']), world.dataDir);
    assert.equal(page.status, 502);
    assert.match(page.body, /the agent has no file descriptors left.*raise the agent.*s limit of open files/);
    const line = await lineOf(agent, ({ problem }) => problem !== undefined && problem !== null);
    assert.match(String(line['problem']), /this agent has no file descriptors left.*ulimit -n/);
  });

  await t.test('a file with several tunnels: http, tcp and labels in one run', async (t) => {
    const service = createServer((_, response) => response.end('web'));
    const echo = createTcpServer((socket) => socket.pipe(socket));
    const web = await listening(t, service);
    const raw = await listening(t, echo);
    const file = join(world.dataDir, 'postern-agent.yaml');
    await writeFile(
      file,
      `version: 2
metadata: the session
tunnels:
  web: { proto: http, addr: ${web}, domain: chosen.localhost }
  shut: { proto: http, addr: ${web}, ip_restriction: { deny_cidrs: [127.0.0.0/8] } }
  raw: { proto: tcp, addr: ${raw} }
  group: { labels: [app=web], addr: ${web} }
  twice: { proto: http, addr: ${web}, domain: chosen.localhost }
`,
    );
    const agent = startAgent(t, world, ['start', '--all', '--config', file]);
    const urlOf = async (name: string): Promise<string> =>
      String((await lineOf(agent, (line) => line['event'] === 'bound' && line['tunnel'] === name))['url']);
    const refused = await lineOf(agent, ({ event }) => event === 'unbound');
    assert.equal(refused['level'], 'error');
    assert.match(String(refused['msg']), /^(web|twice): rejected: .*chosen\.localhost/);
    const kept = refused['tunnel'] === 'web' ? 'twice' : 'web';
    assert.deepEqual(await get(`${await urlOf(kept)}/`, world.dataDir), { status: 200, body: 'web' });
    assert.equal((await get(`${await urlOf('shut')}/`, world.dataDir)).status, 403);
    const { port } = new URL(await urlOf('raw'));
    const socket = connect(Number(port), '127.0.0.1');
    t.after(() => socket.destroy());
    socket.end('ping');
    assert.equal(await text(socket), 'ping');
    await lineOf(agent, ({ event, phase }) => event === 'connection' && phase === 'opened');
    const labelled = (await tunnelsOf(world)).find((tunnel) => tunnel['labels'] !== undefined);
    assert.deepEqual(labelled?.['labels'], { app: 'web' });
    agent.child.kill('SIGTERM');
    assert.equal((await agent.exited).code, 0);
  });

  await t.test('a wrong token and an unknown CA exit with 1 and advice', async (t) => {
    const wrong = startAgent(t, world, ['http', '1', '--authtoken', 'x'.repeat(40)]);
    assert.equal((await wrong.exited).code, 1);
    assert.match(String(wrong.lines().at(-1)?.['msg']), /^stopped: .*postern api credentials create/);
    const elsewhere = await tempDir(t);
    const env = { POSTERN_DATA_DIR: elsewhere, POSTERN_AUTHTOKEN: 'x', HOME: elsewhere, XDG_CONFIG_HOME: '' };
    const args = ['http', '1', '--no-inspect', '--server-addr', world.tunnelAddr];
    const distrusting = startPostern(t, { args, env, cwd: elsewhere });
    assert.equal((await distrusting.exited).code, 1);
    assert.match(
      distrusting.stdout(),
      /error stopped: the certificate of .* run "postern ca print > postern-cas\.pem" .* --root-ca postern-cas\.pem/,
    );
  });

  // The last one: it ends the server.
  await t.test('reports and survives a restart of the server', async (t) => {
    const service = createServer((_, response) => response.end('back'));
    const port = await listening(t, service);
    const agent = startAgent(t, world, ['http', String(port)]);
    await lineOf(agent, ({ event }) => event === 'bound');
    world.server.child.kill('SIGKILL');
    await world.server.exited;
    const lost = await lineOf(agent, ({ status }) => status === 'reconnecting');
    assert.match(String(lost['msg']), /^disconnected: .*retrying/);
    const args = ['--tunnel-listen', world.tunnelAddr, '--tcp-ports', '127.0.0.1:20950-20959'];
    const again = startServerProcess(t, world.dataDir, { args });
    await again.ready();
    await lineOf(agent, ({ msg }) => String(msg).startsWith('online again'));
    await lineOf(agent, () => agent.lines().filter(({ event }) => event === 'bound').length === 2);
    const url = String(agent.lines().findLast(({ event }) => event === 'bound')?.['url']);
    assert.deepEqual(await get(`${url}/`, world.dataDir), { status: 200, body: 'back' });
  });
});
