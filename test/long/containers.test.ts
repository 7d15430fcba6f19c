import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startPostern } from '../support/server-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TunnelWorld } from '../support/tunnel-world.ts';
import { type EngineName, IMAGE, importImage, openEngine } from './containers/engines.ts';

/** Short form: test/cli/docker/published-containers.test.ts shows the same with an engine of the test. */
const WITHIN_MS = 60_000;
/** Instead of serving. */
const IDLE = 'idle';

/** Passes GET on, and nothing else: the only socket that the agent sees. */
function readOnlyProxy(socket: string) {
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

// Removed after the engine has ended: hooks run in the order in which they are given.
const directories: Readonly<Record<EngineName, string>> = {
  Podman: await tempDir({ after }),
  Docker: await tempDir({ after }),
};

async function judge(name: EngineName): Promise<void> {
  const directory = directories[name];
  const engine = await openEngine(name, directory);
  if (typeof engine === 'string') {
    console.error(`\n!! ${engine}\n`);
    test('labels', { skip: engine }, () => {});
    return;
  }
  const started = new Set<string>();
  const remove = async (container: string): Promise<void> => {
    await engine.remove(container);
    started.delete(container);
  };
  const readOnly = join(directory, 'read-only.sock');
  const proxy = readOnlyProxy(engine.socket).listen(readOnly);
  after(async () => {
    // The newest first: a container whose network another one uses is removed after that one.
    for (const each of [...started].reverse()) await remove(each).catch(() => {});
    await engine.close();
    proxy.closeAllConnections();
    proxy.close();
  });
  await importImage(engine, directory);
  const world = await TunnelWorld.open({ after });
  const file = join(directory, 'postern-agent.yaml');
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
    started.add(name);
    // Docker gives no name to a host that is another one's.
    const isShared = more.some((each) => /^(host|container:.*)$/.test(each));
    await engine.run(
      ...['run', '--detach', '--name', name, ...(isShared ? [] : ['--hostname', name]), ...flags],
      ...(more.includes('--network') ? [] : engine.network),
      ...more.filter((each) => each !== IDLE),
      ...[IMAGE, ...last],
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
      await engine.run('stop', '-t', '0', name);
      times.push(await answers(`${name}.localhost`, 'gone'));
      await engine.run('start', name);
      times.push(await answers(`${name}.localhost`, name));
      await engine.run('pause', name);
      times.push(await answers(`${name}.localhost`, 'gone'));
      await engine.run('unpause', name);
      times.push(await answers(`${name}.localhost`, name));
      await remove(name);
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
    await remove('shop-2');
    await until('two', async () => (await seen('shop.localhost')) === 'shop-1 shop-3');
    isOver = true;
    await load;
    // A request that the removed container was answering cannot be repeated.
    assert.ok(failures.length <= 1, failures.join());
  });

  test('an unhealthy container gets no requests', async () => {
    await run('patient', { 'postern.host': 'patient.localhost' }, ...engine.healthCheck);
    const check = () => engine.check('patient');
    await sleep(3_000);
    assert.equal(await ask('patient.localhost'), 'gone', 'it is starting');
    await engine.run('exec', 'patient', 'sh', '-c', 'echo yes > /www/healthy');
    await check();
    await answers('patient.localhost', 'patient');
    await engine.run('exec', 'patient', 'busybox', 'rm', '/www/healthy');
    await check().catch(() => {});
    await answers('patient.localhost', 'gone');
  });

  test('members of a tunnel group share its requests', async () => {
    const backend = await world.edge.api('POST', '/backends/tunnel_group', { labels: { app: 'containers' } });
    const { host } = await world.edge.site(backend.id);
    const compose = { 'com.docker.compose.project': 'p', 'com.docker.compose.service': 'member' };
    await run('member-1', { ...compose, 'postern.labels': 'app=containers' });
    await run('member-2', { ...compose, 'postern.labels': 'app=containers' });
    await until('both', async () => (await seen(host)) === 'member-1 member-2');
  });

  test('hostile labels publish nothing, and GET /problems says why', async () => {
    await run('honest', { 'postern.host': 'honest.localhost' });
    await answers('honest.localhost', 'honest');
    await run('thief', { 'postern.host': 'honest.localhost' });
    await run('file-thief', { 'postern.host': 'FILE.localhost' });
    await run('group-thief', { 'postern.labels': 'app=containers,mine=yes' });
    await run('machine', { 'postern.host': 'machine.localhost', 'postern.port': '22' }, '--network', 'host');
    await run('parasite', { 'postern.host': 'parasite.localhost' }, '--network', 'container:honest', IDLE);
    await run('alone', { 'postern.host': 'alone.localhost', 'postern.port': '80' }, '--network', 'none');
    await run('stranger', { 'postern.host': 'stranger.localhost', 'postern.network': 'host' });
    await run('typo', { 'postern.host': 'typo.localhost', 'postern.allow-group': 'ops' });
    await run('escape', { 'postern.host': 'e\u001b[2Jx.localhost' });
    await rejected('thief', /belongs to container honest/);
    await rejected('file-thief', /belongs to the file of the agent/);
    await rejected('group-thief', /app=containers belongs to service p\/member/);
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
    await engine.end();
    await until('it is said', () => agent.stdout().includes('cannot follow the containers'));
    assert.equal(await ask('honest.localhost'), 'honest');
    const change = async (): Promise<void> => {
      await remove('typo');
      await run('late', { 'postern.host': 'late.localhost' });
    };
    if (engine.worksWithoutSocket) await change();
    await engine.start();
    if (!engine.worksWithoutSocket) await change();
    await answers('late.localhost', 'late');
    assert.equal(await ask('honest.localhost'), 'honest');
  });
}

for (const name of ['Podman', 'Docker'] as const)
  suite(`containers of ${name} by their labels`, { timeout: 1_200_000 }, () => judge(name));
