import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { httpWorld } from './support/agent-world.ts';

test('stop ends the agent after requests in progress', async (t) => {
  const release = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  const { connection, tunnel, agent } = await httpWorld(t, (_request, response) => {
    arrived.resolve();
    void release.promise.then(() => response.end('done'));
  });
  const answer = connection.request(tunnel);
  await arrived.promise;
  const commanded = once(agent, 'command');
  const stopped = once(agent, 'status');
  connection.send({ t: 'command', id: 7, command: 'stop' });
  const [event] = await commanded;
  assert.deepEqual([event.command, event.isAccepted], ['stop', true]);
  const { id, ok } = await connection.message('done');
  assert.deepEqual([id, ok], [7, true]);
  await connection.message('unbind');
  release.resolve();
  assert.equal((await answer).body, 'done');
  await connection.message('bye');
  const [end] = await stopped;
  assert.deepEqual([end.status, end.code], ['stopped', 'ERR_POSTERN_AGENT_STOPPED']);
});

test('restart leaves cleanly and starts a new session with the same names', async (t) => {
  const { connection, gateway, agent } = await httpWorld(t, (_request, response) => response.end('ok'));
  const bound = once(agent, 'bound');
  connection.send({ t: 'command', id: 1, command: 'restart' });
  await connection.message('bye');
  await bound;
  const next = await gateway.connection(1);
  assert.deepEqual([next.hello.join, next.hello.resume], [undefined, undefined]);
  assert.equal((await next.message('bind')).domain, 'given-0.gateway.test');
  assert.equal(agent.status, 'online');
  assert.equal((await next.request(agent.tunnels[0]?.id ?? '')).body, 'ok');
});

test("update is reported to the agent's user", async (t) => {
  const { connection, agent } = await httpWorld(t, (_request, response) => response.end());
  const commanded = once(agent, 'command');
  connection.send({ t: 'command', id: 2, command: 'update' });
  const [event] = await commanded;
  assert.equal(event.command, 'update');
  assert.equal((await connection.message('done')).ok, true);
  assert.equal(agent.status, 'online');
});

test('rejects commands where remote management is off', async (t) => {
  const { connection, agent } = await httpWorld(t, (_request, response) => response.end(), { remoteManagement: false });
  assert.equal(connection.hello.remote_management, false);
  for (const command of ['stop', 'restart', 'update'] as const) {
    const commanded = once(agent, 'command');
    connection.send({ t: 'command', id: 3, command });
    const [event] = await commanded;
    assert.equal(event.isAccepted, false);
  }
  const { ok, message } = await connection.message('done', 2);
  assert.equal(ok, false);
  assert.match(message, /remote management is disabled/);
  assert.equal(agent.status, 'online');
});
