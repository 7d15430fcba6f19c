import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { TunnelWorld } from '../support/tunnel-world.ts';
import { eventually, hostOf, localHttp, QUICK_TRIES } from './support/fault-world.ts';
import { RawAgent } from './support/raw-agent.ts';

const world = await TunnelWorld.open({ after });
const port = await localHttp({ after }, (_request, response) => response.end('here'));

function told(sessionId: string | null, command: 'stop' | 'restart' | 'update') {
  return world.edge.world.api('POST', `/tunnel_sessions/${sessionId}/${command}`, {});
}

async function sessionOf(agent: RawAgent): Promise<string> {
  return (await agent.message('welcome')).session;
}

test('stop: the agent ends and does not reconnect', async () => {
  const agent = await world.agent([{ proto: 'https', addr: port }]);
  const stopped = once(agent, 'status');
  const { sessionId } = agent;
  assert.equal((await told(sessionId, 'stop')).status, 204);
  const [{ status, code }] = await stopped;
  assert.deepEqual([status, code], ['stopped', 'ERR_POSTERN_AGENT_STOPPED']);
  assert.equal((await told(sessionId, 'stop')).status, 404);
});

test('restart: a new session with the same name', async () => {
  const agent = await world.agent([{ proto: 'https', addr: port }], { timings: QUICK_TRIES });
  const { sessionId } = agent;
  const host = hostOf(agent);
  const bound = once(agent, 'bound');
  assert.equal((await told(sessionId, 'restart')).status, 204);
  await bound;
  assert.notEqual(agent.sessionId, sessionId);
  assert.equal(hostOf(agent), host);
  assert.equal((await world.edge.ask(host)).text, 'here');
  await agent.close();
});

test("update: the agent's user is notified, and it continues unchanged", async () => {
  const agent = await world.agent([{ proto: 'https', addr: port }]);
  const commanded = once(agent, 'command');
  const { sessionId } = agent;
  assert.equal((await told(sessionId, 'update')).status, 204);
  const [event] = await commanded;
  assert.deepEqual([event.command, event.isAccepted], ['update', true]);
  assert.deepEqual([agent.status, agent.sessionId], ['online', sessionId]);
  await agent.close();
});

test('an agent without remote management rejects all', async () => {
  const agent = await world.agent([{ proto: 'https', addr: port }], { remoteManagement: false });
  for (const command of ['stop', 'restart', 'update'] as const) {
    const { status, body } = await told(agent.sessionId, command);
    assert.deepEqual([status, body.error_code], [409, 'ERR_POSTERN_AGENT_REFUSES']);
    assert.match(body.msg, new RegExp(`remote_management: false: ${command} it on its machine`));
  }
  assert.equal(agent.status, 'online');
  await agent.close();
});

test("the API returns the agent's refusal message", async () => {
  const agent = await RawAgent.greeted(world, { remote_management: true });
  const answer = told(await sessionOf(agent), 'update');
  const { id } = await agent.message('command');
  agent.say({ t: 'done', id: id + 1, ok: true, message: '' });
  agent.say({ t: 'done', id, ok: false, message: 'a package of the distribution: use apt' });
  const { status, body } = await answer;
  assert.deepEqual([status, body.error_code], [409, 'ERR_POSTERN_AGENT_REFUSES']);
  assert.match(body.msg, /rejected the command: a package of the distribution: use apt$/);
  agent.destroy();
});

test('an agent that is lost before it responds is unreachable', async () => {
  const agent = await RawAgent.greeted(world, { remote_management: true });
  const answer = told(await sessionOf(agent), 'stop');
  await agent.message('command');
  agent.destroy();
  const { status, body } = await answer;
  assert.deepEqual([status, body.error_code], [503, 'ERR_POSTERN_AGENT_UNREACHABLE']);
  await eventually('nobody is connected', async () => {
    const { tunnel_sessions: sessions } = await world.edge.api('GET', '/tunnel_sessions');
    return sessions.length === 0;
  });
});
