import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startPostern } from '../support/server-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TunnelWorld } from '../support/tunnel-world.ts';

/** Short form: test/cli/docker/published-containers.test.ts shows the same with an engine of the test. */
const PACKAGES = ['podman', 'runc', 'busybox-static'];
const WITHIN_MS = 60_000;
/** Some sandboxes allow no more. */
const CONTAINERS_CONF = `[containers]
default_ulimits = ["nofile=20000:20000", "nproc=4000:4000"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
`;
const SERVE = 'hostname > /www/index.html; exec httpd -f -p 80 -h /www';
/** Instead of serving. */
const IDLE = 'idle';
const IS_FRESH = ['--health-cmd', 'cat /www/healthy', '--health-interval', 'disable', '--health-retries', '1'];

const directory = await tempDir({ after });
const conf = join(directory, 'containers.conf');
const socket = join(directory, 'podman.sock');
const readOnly = join(directory, 'read-only.sock');
await writeFile(conf, CONTAINERS_CONF);

const storage = ['--root', join(directory, 'root'), '--runroot', join(directory, 'run')];
const env = { ...process.env, CONTAINERS_CONF: conf };

/** Asynchronously: the server of the test runs in this process. */
async function podman(...args: readonly string[]): Promise<void> {
  const child = spawn('podman', [...storage, ...args], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  const said = text(child.stderr);
  const [status] = await once(child, 'close');
  assert.equal(status, 0, `podman ${args.join(' ')}: ${await said}`);
}

/** Null: it works. */
function whyNot(): string | null {
  const works = (): boolean => spawnSync('podman', [...storage, 'info'], { env }).status === 0;
  if (!works() && process.platform === 'linux' && process.getuid?.() === 0)
    spawnSync('apt-get', ['-qq', '-y', 'install', ...PACKAGES], { env: { ...env, DEBIAN_FRONTEND: 'noninteractive' } });
  if (!works())
    return `PODMAN DID NOT JUDGE LABELS: it does not work here. Debian: apt-get install ${PACKAGES.join(' ')}`;
  return null;
}

async function makeImage(): Promise<void> {
  const root = join(directory, 'image');
  await mkdir(join(root, 'bin'), { recursive: true });
  await mkdir(join(root, 'www'));
  await cp('/bin/busybox', join(root, 'bin', 'busybox'));
  // One of Debian's two packages is linked with libraries, which the image must have too.
  const { stdout: libraries } = spawnSync('ldd', ['/bin/busybox'], { encoding: 'utf8' });
  for (const [, library = ''] of libraries.matchAll(/(\/\S+) \(0x/g))
    await cp(library, join(root, library), { dereference: true });
  for (const name of ['sh', 'httpd', 'hostname', 'cat', 'sleep']) await symlink('busybox', join(root, 'bin', name));
  const tar = join(directory, 'image.tar');
  assert.equal(spawnSync('tar', ['-C', root, '-cf', tar, '.']).status, 0);
  await podman('import', '--change', 'EXPOSE 80', '--change', `CMD ["/bin/sh","-c","${SERVE}"]`, tar, 'local/web');
}

async function startEngine(): Promise<ChildProcess> {
  const child = spawn('podman', [...storage, 'system', 'service', '--time=0', `unix://${socket}`], {
    env,
    stdio: 'ignore',
  });
  while (spawnSync('test', ['-S', socket]).status !== 0) await sleep(50);
  return child;
}

async function endEngine(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'close');
  spawnSync('rm', ['-f', socket]);
}

/** Passes GET on, and nothing else: the only socket that the agent sees. */
function readOnlyProxy() {
  return createServer((incoming, outgoing) => {
    if (incoming.method !== 'GET') {
      outgoing.statusCode = 403;
      outgoing.end();
      return;
    }
    const passed = request({ socketPath: socket, path: incoming.url, method: 'GET', agent: false }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, { 'content-type': 'application/json' });
      outgoing.flushHeaders();
      answer.pipe(outgoing).on('error', () => {});
      answer.on('error', () => outgoing.destroy());
    });
    passed.on('error', () => outgoing.destroy());
    outgoing.on('close', () => passed.destroy());
    passed.end();
  });
}

const missing = whyNot();
if (missing !== null) console.error(`\n!! ${missing}\n`);

suite('containers of Podman by their labels', { skip: missing ?? false, timeout: 1_200_000 }, async () => {
  if (missing !== null) return;
  await makeImage();
  const world = await TunnelWorld.open({ after });
  let engine = await startEngine();
  const proxy = readOnlyProxy().listen(readOnly);
  after(async () => {
    // A container whose network another one uses is removed after that one.
    for (let round = 0; round < 2; round += 1) await podman('rm', '--all', '--force', '--time', '0').catch(() => {});
    await endEngine(engine);
    proxy.closeAllConnections();
    proxy.close();
  });
  const file = join(directory, 'postern.yml');
  const ca = join(directory, 'ca.pem');
  await writeFile(ca, world.edge.ca.join('\n'));
  await writeFile(
    file,
    `version: 2\nauthtoken: ${world.token}\nserver_addr: 127.0.0.1:${world.port}\nroot_cas: [ca.pem]\ninspect_addr: false
tunnels:\n  held:\n    proto: http\n    addr: 1\n    domain: file.localhost
docker:\n  socket: ${readOnly}\n  defaults:\n    allow_public: true\n`,
  );
  const agent = startPostern(
    { after },
    { args: ['start', '--all', '--docker', '--config', file, '--log-format', 'json'] },
  );

  const run = async (
    name: string,
    labels: Readonly<Record<string, string>>,
    ...more: readonly string[]
  ): Promise<void> => {
    const flags = Object.entries(labels).flatMap(([label, value]) => ['--label', `${label}=${value}`]);
    const last = more.at(-1) === IDLE ? ['sleep', '1000'] : [];
    await podman(
      'run',
      '--detach',
      '--name',
      name,
      '--hostname',
      name,
      ...flags,
      ...more.filter((each) => each !== IDLE),
      'local/web',
      ...last,
    );
  };
  const ask = async (host: string): Promise<string> => {
    const answer = await world.edge.ask(host, '/', { agent: false }).catch(() => null);
    if (answer === null || answer.status === 404) return 'gone';
    return answer.status === 200 ? answer.text.trim() : String(answer.status);
  };
  const until = async (what: string, isTrue: () => boolean | Promise<boolean>): Promise<number> => {
    const startedMs = performance.now();
    while (!(await isTrue())) {
      assert.ok(
        performance.now() - startedMs < WITHIN_MS,
        `not in time: ${what}\n${agent.stdout()}\n${agent.stderr()}`,
      );
      await sleep(20);
    }
    return Math.round(performance.now() - startedMs);
  };
  const answers = (host: string, text: string) =>
    until(`${host} answers ${text}`, async () => (await ask(host)) === text);
  const rejected = (name: string, reason: RegExp) =>
    until(`${name} is rejected`, () =>
      agent.lines().some((line) => line['container'] === name && reason.test(String(line['reason']))),
    );
  const seen = async (host: string): Promise<string> => {
    const texts = await Promise.all(Array.from({ length: 16 }, () => ask(host)));
    return [...new Set(texts)].sort().join(' ');
  };

  test('a container is published when it starts and removed when it stops, on a shared network and on loopback', async () => {
    const times: number[] = [];
    for (const [name, flags] of [
      ['bridged', []],
      ['looped', ['--publish', '127.0.0.1::80']],
    ] as const) {
      await run(name, { 'postern.host': `${name}.localhost` }, ...flags);
      times.push(await answers(`${name}.localhost`, name));
      await podman('stop', '--time', '0', name);
      times.push(await answers(`${name}.localhost`, 'gone'));
      await podman('start', name);
      times.push(await answers(`${name}.localhost`, name));
      await podman('pause', name);
      times.push(await answers(`${name}.localhost`, 'gone'));
      await podman('unpause', name);
      times.push(await answers(`${name}.localhost`, name));
      await podman('rm', '--force', '--time', '0', name);
      times.push(await answers(`${name}.localhost`, 'gone'));
    }
    console.log(`came and went after ${times.join(', ')} ms`);
  });

  test('a service is scaled to three replicas and back without a failed request', async () => {
    const labels = {
      'com.docker.compose.project': 'shop',
      'com.docker.compose.service': 'web',
      'postern.host': 'shop.localhost',
    };
    await run('shop-1', labels);
    await answers('shop.localhost', 'shop-1');
    const failures: string[] = [];
    let isOver = false;
    const load = (async () => {
      while (!isOver) {
        const text = await ask('shop.localhost');
        if (!/^shop-\d$/.test(text)) failures.push(text);
      }
    })();
    await run('shop-2', labels);
    await run('shop-3', labels);
    await until('three', async () => (await seen('shop.localhost')) === 'shop-1 shop-2 shop-3');
    await podman('rm', '--force', '--time', '0', 'shop-2');
    await until('two', async () => (await seen('shop.localhost')) === 'shop-1 shop-3');
    isOver = true;
    await load;
    // A request that the removed container was answering cannot be repeated.
    assert.ok(failures.length <= 1, failures.join());
  });

  test('an unhealthy container gets no requests', async () => {
    await run('patient', { 'postern.host': 'patient.localhost' }, ...IS_FRESH);
    const check = () => podman('healthcheck', 'run', 'patient');
    await sleep(3_000);
    assert.equal(await ask('patient.localhost'), 'gone', 'it is starting');
    await podman('exec', 'patient', 'sh', '-c', 'echo yes > /www/healthy');
    await check();
    await answers('patient.localhost', 'patient');
    await podman('exec', 'patient', 'busybox', 'rm', '/www/healthy');
    await assert.rejects(check());
    await answers('patient.localhost', 'gone');
  });

  test('members of a tunnel group share its requests', async () => {
    const backend = await world.edge.api('POST', '/backends/tunnel_group', { labels: { app: 'podman' } });
    const { host } = await world.edge.site(backend.id);
    const compose = { 'com.docker.compose.project': 'p', 'com.docker.compose.service': 'member' };
    await run('member-1', { ...compose, 'postern.labels': 'app=podman' });
    await run('member-2', { ...compose, 'postern.labels': 'app=podman' });
    await until('both', async () => (await seen(host)) === 'member-1 member-2');
  });

  test('hostile labels publish nothing, and GET /problems says why', async () => {
    await run('honest', { 'postern.host': 'honest.localhost' });
    await answers('honest.localhost', 'honest');
    await run('thief', { 'postern.host': 'honest.localhost' });
    await run('file-thief', { 'postern.host': 'FILE.localhost' });
    await run('group-thief', { 'postern.labels': 'app=podman,mine=yes' });
    await run('machine', { 'postern.host': 'machine.localhost', 'postern.port': '22' }, '--network', 'host');
    await run('parasite', { 'postern.host': 'parasite.localhost' }, '--network', 'container:honest', IDLE);
    await run('alone', { 'postern.host': 'alone.localhost', 'postern.port': '80' }, '--network', 'none');
    await run('stranger', { 'postern.host': 'stranger.localhost', 'postern.network': 'host' });
    await run('typo', { 'postern.host': 'typo.localhost', 'postern.allow-group': 'ops' });
    await run('escape', { 'postern.host': 'e\u001b[2Jx.localhost' });
    await rejected('thief', /belongs to container honest/);
    await rejected('file-thief', /belongs to the file of the agent/);
    await rejected('group-thief', /app=podman belongs to service p\/member/);
    await rejected('machine', /network of the machine/);
    await rejected('parasite', /network of another container/);
    await rejected('alone', /cannot reach port 80/);
    await rejected('stranger', /not in the network "host"/);
    await rejected('typo', /is unknown/);
    await rejected('escape', /control characters/);
    assert.equal(await seen('honest.localhost'), 'honest');
    for (const name of ['machine', 'parasite', 'alone', 'stranger', 'typo']) {
      assert.equal(await ask(`${name}.localhost`), 'gone', name);
    }
    await until('listed', async () => {
      const { problems } = await world.edge.api('GET', '/problems?limit=100');
      return ['thief', 'machine', 'typo'].every((name) =>
        JSON.stringify(problems).includes(`container ${name}: rejected`),
      );
    });
  });

  test('published containers stay while the engine is away, and the agent catches up', async () => {
    await endEngine(engine);
    await until('it is said', () => agent.stdout().includes('cannot follow the containers'));
    assert.equal(await ask('honest.localhost'), 'honest');
    await podman('rm', '--force', '--time', '0', 'typo');
    await run('late', { 'postern.host': 'late.localhost' });
    engine = await startEngine();
    await answers('late.localhost', 'late');
    assert.equal(await ask('honest.localhost'), 'honest');
  });
});
