import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createStartCommand } from '../../../src/app/cli/agent/start-command.ts';
import { AgentWorld } from '../agent-world.ts';
import { FakeEngine } from './fake-engine.ts';

const HOST = { 'postern.host': 'app.example.com' };

async function until(isTrue: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + 20_000;
  while (!isTrue()) {
    assert.ok(performance.now() < deadlineMs, 'it did not happen');
    await sleep(10);
  }
}

test('start --docker needs no file, and publishes no container without a login', async (t) => {
  const engine = await FakeEngine.open(t);
  const world = new AgentWorld({ env: { POSTERN_AUTHTOKEN: 'token', DOCKER_HOST: `unix://${engine.socket}` } });
  engine.run('open', HOST, { hostPort: 8080 });
  engine.run('shut', { 'postern.host': 'shut.example.com', 'postern.login': 'true' }, { hostPort: 8081 });
  const run = world.run(createStartCommand(world.ports), ['--docker', '--log-format', 'json']);
  const agent = await world.agent();
  await until(() => agent.tunnels.length === 1);
  const { domain, modules, addr } = agent.tunnels[0]?.spec ?? {};
  assert.deepEqual([domain, modules, addr], ['shut.example.com', { oidc: {} }, ['http://127.0.0.1:8081']]);
  assert.match(agent.problems.join(), /^container open: rejected: it would be public/);
  const line = world.stdout.map((each) => JSON.parse(each)).find((each) => each.event === 'container');
  assert.deepEqual([line.level, line.container, line.rejected], ['warn', 'open', true]);
  assert.equal(agent.options.isOpenEnded, true);
  // A refused tunnel is not the end of an agent whose containers change.
  agent.refuse(0, 'the acl does not allow it');
  assert.match(agent.problems.join(), /shut: the server rejected it: the acl does not allow it/);
  world.signal();
  assert.equal(await run, 0);
});

test('start --docker takes the rules of the file, with the tunnels that are named', async (t) => {
  const engine = await FakeEngine.open(t);
  const yml = `version: 2
tunnels: { web: { proto: http, addr: 3000, domain: app.example.com }, other: { proto: http, addr: 1 } }
docker:
  socket: ${engine.socket}
  defaults: { allow_groups: [ops], compression: true }
`;
  const world = new AgentWorld({ files: { 'postern-agent.yaml': yml } });
  engine.run('thief', HOST, { hostPort: 8080 });
  engine.run('mine', { 'postern.host': 'mine.example.com' }, { hostPort: 8081 });
  const run = world.run(createStartCommand(world.ports), ['web', '--docker']);
  const agent = await world.agent();
  await until(() => agent.tunnels.length === 2);
  const [web, mine] = agent.tunnels.map(({ spec }) => spec);
  assert.equal(web?.domain, 'app.example.com');
  assert.deepEqual(mine?.modules, { compression: {}, oidc: {}, access: { allow_groups: ['ops'] } });
  assert.match(agent.problems.join(), /container thief: rejected: app.example.com belongs to the file/);
  world.signal();
  assert.equal(await run, 0);
});

test('start says what is missing', async () => {
  const started = (args: readonly string[], env: Record<string, string> = {}): Promise<number> => {
    const world = new AgentWorld({ env: { POSTERN_AUTHTOKEN: 'token', ...env } });
    return world.run(createStartCommand(world.ports), args);
  };
  await assert.rejects(started([]), /name the tunnels to start, or use --all or --docker/);
  await assert.rejects(started(['--docker']), /no socket of Docker or Podman at \/var\/run\/docker.sock, /);
  await assert.rejects(started(['--docker'], { DOCKER_HOST: 'ssh://machine' }), /DOCKER_HOST must be a path/);
  await assert.rejects(started(['--docker', '--all']), /no configuration file/);
});
