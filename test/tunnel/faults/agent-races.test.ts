import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { agentFor, fakeGateway } from '../../agent/support/agent-world.ts';
import type { FakeConnection } from '../../agent/support/fake-gateway.ts';

const TUNNEL = { proto: 'https', addr: 1 } as const;

/**
 * An agent that lost its only connection while the server had not yet answered another one, `late`, that was to join
 * it.
 */
async function lostWhileJoining(t: TestContext) {
  const joining = Promise.withResolvers<FakeConnection>();
  const gateway = await fakeGateway(t, {
    connections: 2,
    onHello: (connection) => {
      if (connection.hello.join === undefined || gateway.connections.length > 2) return false;
      joining.resolve(connection);
      return true;
    },
  });
  const agent = agentFor(t, gateway, { tunnels: [TUNNEL] });
  await agent.ready;
  const late = await joining.promise;
  const lost = once(agent, 'status');
  (await gateway.connection(0)).cut();
  assert.equal((await lost)[0].status, 'reconnecting');
  return { gateway, agent, late };
}

test('resumes the session and requests the tunnels when the last connection was lost during a join', async (t) => {
  const { gateway, agent, late } = await lostWhileJoining(t);
  gateway.welcome(late);
  await once(agent, 'bound');
  assert.equal(agent.status, 'online');
  assert.ok(gateway.connections.some(({ hello }) => hello.resume?.session === 'ts_1'));
});

test('a join that the server treated as a resume returns the secret for the next resume', async (t) => {
  const { gateway, agent, late } = await lostWhileJoining(t);
  const rest = { generation: 2, region: 'test', connections: 2, resumed: true };
  late.send({ t: 'welcome', session: 'ts_1', secret: 'newer', ...rest });
  await once(agent, 'bound');
  const resumes = gateway.connections.flatMap(({ hello }) => hello.resume ?? []);
  assert.ok(
    resumes.some(({ secret }) => secret === 'newer'),
    JSON.stringify(resumes),
  );
});

test('ids that a server repeatedly assigns to a tunnel do not pile up', async (t) => {
  const gateway = await fakeGateway(t);
  const agent = agentFor(t, gateway, { tunnels: [TUNNEL] });
  await agent.ready;
  const connection = await gateway.connection(0);
  const first = agent.tunnels[0]?.id ?? '';
  for (let at = 0; at < 100; at += 1) connection.send({ t: 'bound', ref: 0, id: `tn_again_${at}`, region: 'test' });
  connection.send({ t: 'bound', ref: 7, id: 'tn_of_nobody', region: 'test' });
  // In order: when this is answered the others have been processed.
  connection.send({ t: 'command', id: 1, command: 'update' });
  await connection.message('done');
  assert.equal(agent.tunnels[0]?.id, 'tn_again_99');
  for (const gone of [first, 'tn_again_5', 'tn_of_nobody']) {
    assert.equal((await connection.request(gone)).status, 404, gone);
  }
});
