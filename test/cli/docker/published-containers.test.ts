import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { DockerTunnels, type DockerTunnelsParts } from '../../../src/app/cli/agent/docker/docker-tunnels.ts';
import type { Allowed } from '../../../src/app/cli/agent/docker/wanted-tunnels.ts';
import type { AgentHandle } from '../../../src/tunnel/agent/handle.ts';
import type { Cleanup } from '../../support/cleanup.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { type FakeContainer, FakeEngine } from './fake-engine.ts';

/** Containers come and go within two seconds; the rest is for a busy machine. */
const WITHIN_MS = 20_000;
const PUBLIC: Allowed = { modules: {}, allowGroups: [], allowEmails: [], allowPublic: true };

const world = await TunnelWorld.open({ after });

interface Published {
  readonly engine: FakeEngine;
  readonly agent: AgentHandle;
  readonly notes: string[];
  /** A service of its own that answers with its name. */
  readonly container: (
    name: string,
    labels: Record<string, string>,
    more?: Partial<FakeContainer>,
  ) => Promise<FakeContainer>;
}

async function publish(t: Cleanup, allowed: Partial<Allowed> = {}, token = world.token): Promise<Published> {
  const engine = await FakeEngine.open(t);
  const agent = await world.agent([], { isOpenEnded: true, authtoken: token });
  const notes: string[] = [];
  const docker = new DockerTunnels({
    source: { engine: { socketPath: engine.socket }, allowed: { ...PUBLIC, ...allowed }, sharedLabels: [] },
    agent,
    note: (level, message) => notes.push(`${level} ${message}`),
  });
  agent.on('bound', () => docker.tunnelChanged());
  agent.on('unbound', () => docker.tunnelChanged());
  t.after(async () => {
    await docker.close();
    await agent.close();
  });
  const container: Published['container'] = async (name, labels, more) => {
    const server = createServer((_request, response) => response.end(name));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    });
    return engine.run(name, labels, { hostPort: (server.address() as AddressInfo).port, ...more });
  };
  return { engine, agent, notes, container };
}

async function until(what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + WITHIN_MS;
  while (!(await isTrue())) {
    assert.ok(performance.now() < deadlineMs, `not within ${WITHIN_MS} ms: ${what}`);
    await sleep(25);
  }
}

/** `gone`: nothing is published there. */
const ask = async (host: string): Promise<string> => {
  const answer = await world.edge.ask(host, '/', { agent: false }).catch(() => null);
  if (answer === null || answer.status === 404) return 'gone';
  return answer.status === 200 ? answer.text : String(answer.status);
};
const answers = (host: string, text: string) =>
  until(`${host} answers ${text}`, async () => (await ask(host)) === text);
const problems = async (): Promise<string> => {
  const { problems: all } = await world.edge.api('GET', '/problems?limit=100');
  return JSON.stringify(all);
};

suite('containers as tunnels', { timeout: 120_000 }, () => {
  test('publishes a container while it runs, and reads with GET only', async (t) => {
    const { engine, container } = await publish(t);
    const web = await container('web', { 'postern.host': 'web1.localhost' });
    await answers('web1.localhost', 'web');
    engine.end(web);
    await answers('web1.localhost', 'gone');
    assert.ok(engine.asked.every((line) => /^GET \/(events|containers\/(json|[0-9a-f]{64}\/json))$/.test(line)));
  });

  test('shares the requests of a service among its ready replicas', async (t) => {
    const { engine, agent, container } = await publish(t);
    const compose = { 'com.docker.compose.project': 'shop', 'com.docker.compose.service': 'web' };
    const labels = { ...compose, 'postern.host': 'shop.localhost' };
    const one = await container('shop-web-1', labels);
    const two = await container('shop-web-2', labels);
    const three = await container('shop-web-3', labels, { health: 'starting' });
    const seen = async (): Promise<string> => {
      const texts = await Promise.all(Array.from({ length: 12 }, () => ask('shop.localhost')));
      return [...new Set(texts)].sort().join(' ');
    };
    await until('two replicas', async () => (await seen()) === 'shop-web-1 shop-web-2');
    assert.equal(agent.tunnels.length, 1);
    three.health = 'healthy';
    engine.tell('health_status: healthy', three);
    await until('three replicas', async () => (await seen()) === 'shop-web-1 shop-web-2 shop-web-3');
    two.health = 'unhealthy';
    engine.tell('health_status: unhealthy', two);
    await until('without the unhealthy one', async () => (await seen()) === 'shop-web-1 shop-web-3');
    engine.end(one);
    await until('one is left', async () => (await seen()) === 'shop-web-3');
    engine.end(three);
    await answers('shop.localhost', 'gone');
  });

  test('makes a container a member of a tunnel group', async (t) => {
    const { engine, container } = await publish(t);
    const backend = await world.edge.api('POST', '/backends/tunnel_group', { labels: { app: 'group' } });
    const { host } = await world.edge.site(backend.id);
    const one = await container('member', { 'postern.labels': 'app=group,zone=a' });
    await answers(host, 'member');
    engine.end(one);
    await until('left', async () => (await ask(host)) !== 'member');
  });

  test('lists rejected containers with their reason in the log and at GET /problems, until they are right', async (t) => {
    const { engine, notes, container } = await publish(t, { allowPublic: false });
    const open = await container('open', { 'postern.host': 'open.localhost' });
    const line = 'container open: rejected: it would be public: set postern.login=true';
    await until('logged', () => notes.some((note) => note.startsWith(`warn ${line}`)));
    await until('listed', async () => (await problems()).includes(line));
    assert.equal(await ask('open.localhost'), 'gone');
    engine.end(open);
    await until('no longer logged', () => notes.includes('info container open: no longer rejected'));
    await until('no longer listed', async () => !(await problems()).includes(line));
    assert.ok(!notes.join().includes('planted-secret-value'));
  });

  test('lists a tunnel that the rules of the credential do not allow', async (t) => {
    const { token } = await world.edge.api('POST', '/credentials', { acl: ['bind:mine.localhost'] });
    const { container } = await publish(t, {}, token);
    await container('mine', { 'postern.host': 'mine.localhost' });
    await container('other', { 'postern.host': 'other.localhost' });
    await answers('mine.localhost', 'mine');
    await until('listed', async () => /other: the server rejected it: .*bind:other.localhost/.test(await problems()));
    assert.equal(await ask('other.localhost'), 'gone');
  });

  test('keeps what is published while the socket is away, and catches up afterwards', async (t) => {
    const { engine, notes, container } = await publish(t);
    const stays = await container('stays', { 'postern.host': 'stays.localhost' });
    await answers('stays.localhost', 'stays');
    await engine.stop();
    await until('it is said', () =>
      notes.some((note) => /^warn cannot follow .* stay as they are; retrying/.test(note)),
    );
    assert.equal(await ask('stays.localhost'), 'stays');
    await until('listed', async () => (await problems()).includes('cannot follow the containers'));
    engine.containers.delete(stays.id);
    await container('comes', { 'postern.host': 'comes.localhost' });
    await engine.start();
    await answers('comes.localhost', 'comes');
    await answers('stays.localhost', 'gone');
    await until('over', async () => !(await problems()).includes('cannot follow the containers'));
  });

  test('reads again when the event stream is lost', async (t) => {
    const { engine, container } = await publish(t);
    await container('first', { 'postern.host': 'first.localhost' });
    await answers('first.localhost', 'first');
    for (let round = 0; round < 3; round += 1) {
      engine.cut();
      await container(`after-${round}`, { 'postern.host': `after-${round}.localhost` });
      await answers(`after-${round}.localhost`, `after-${round}`);
    }
    assert.equal(await ask('first.localhost'), 'first');
  });

  test('works without events, as behind a proxy that does not allow them', async (t) => {
    const { engine, container } = await publish(t);
    engine.answer = (response, path) => {
      if (path !== '/events') return false;
      response.statusCode = 403;
      response.end('forbidden');
      return true;
    };
    engine.cut();
    await container('polled', { 'postern.host': 'polled.localhost' });
    await answers('polled.localhost', 'polled');
  });

  test('survives anything that the socket sends', async (t) => {
    const { engine, container } = await publish(t);
    const web = await container('web', { 'postern.host': 'sturdy.localhost' });
    await answers('sturdy.localhost', 'web');
    engine.say(
      'not JSON\n{"Type":"container"}\n[]\n0\nnull\n"x"\n{"Type":"container","Action":"start","Actor":null}\n',
    );
    engine.say(`${'{"Type":"container","Action":"start","Actor":{"ID":"x"}}\n'.repeat(5_000)}`);
    const bad: readonly string[] = ['', '{', 'null', '{}', '"x"', '[null,1,{"Id":1}]', '['.repeat(100_000)];
    for (const text of bad) {
      engine.answer = (response, path) => {
        if (path !== '/containers/json') return false;
        response.end(text);
        return true;
      };
      engine.tell('start', web);
      const asked = engine.asked.length;
      await until('asked again', () => engine.asked.slice(asked).includes('GET /containers/json'));
    }
    // A line without an end, and a list without an end.
    engine.say('x'.repeat(3_000_000));
    engine.answer = (response, path) => {
      if (path !== '/containers/json') return false;
      const more = (): void => {
        while (!response.destroyed && response.write('[1,'.repeat(100_000)));
        if (!response.destroyed) response.once('drain', more);
      };
      more();
      return true;
    };
    const asked = engine.asked.length;
    await until('asked again', () => engine.asked.slice(asked).includes('GET /containers/json'));
    engine.answer = null;
    const next = await container('next', { 'postern.host': 'next.localhost' });
    await answers('next.localhost', 'next');
    await answers('sturdy.localhost', 'web');
    engine.end(next);
    await answers('next.localhost', 'gone');
  });

  test('rejects only the container that the engine cannot describe', async (t) => {
    const { engine, notes, container } = await publish(t);
    const broken = await container('broken', { 'postern.host': 'broken.localhost' });
    engine.answer = (response, path) => {
      if (!path.includes(broken.id)) return false;
      response.end(JSON.stringify({ Id: broken.id, Config: { Env: ['x'.repeat(2_000_000)] } }));
      return true;
    };
    await container('well', { 'postern.host': 'well.localhost' });
    await answers('well.localhost', 'well');
    await until('rejected', () => notes.some((note) => /^warn container broken: rejected: .* longer than/.test(note)));
  });

  test('a service that is replaced keeps its host against another one that waits for it', async (t) => {
    const { engine, notes, container } = await publish(t);
    const compose = { 'com.docker.compose.project': 'p', 'com.docker.compose.service': 'web' };
    const old = await container('p-web-1', { ...compose, 'postern.host': 'kept.localhost' });
    await answers('kept.localhost', 'p-web-1');
    await container('thief', { 'postern.host': 'kept.localhost' });
    await until('rejected', () => notes.some((note) => note.includes('kept.localhost belongs to service p/web')));
    engine.end(old);
    await answers('kept.localhost', 'gone');
    await container('p-web-2', { ...compose, 'postern.host': 'kept.localhost' });
    await answers('kept.localhost', 'p-web-2');
  });

  test('opens at most 800 tunnels a minute, so that the server keeps the connection, and says what waits', async (t) => {
    const engine = await FakeEngine.open(t);
    for (let at = 0; at < 810; at += 1) engine.run(`c${at}`, { 'postern.host': `c${at}.localhost` }, { hostPort: 9 });
    const opened: string[] = [];
    let listed: readonly string[] = [];
    const agent: DockerTunnelsParts['agent'] = {
      tunnels: [],
      openTunnel: ({ name }) => ({ ref: opened.push(`${name}`) }) as AgentHandle['tunnels'][number],
      closeTunnel: () => {},
      moveTunnel: () => {},
      reportProblems: (texts) => {
        listed = texts;
      },
    };
    const source = { engine: { socketPath: engine.socket }, allowed: PUBLIC, sharedLabels: [] };
    const docker = new DockerTunnels({ source, agent, note: () => {} });
    t.after(() => docker.close());
    await until('some wait', () => listed.some((text) => /^\d+ containers wait: .* at most 800 a minute/.test(text)));
    assert.ok(opened.length >= 800 && opened.length < 810, String(opened.length));
  });
});
