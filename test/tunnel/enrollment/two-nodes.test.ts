import assert from 'node:assert/strict';
import { test } from 'node:test';
import { invitationLine } from '../../../src/tunnel/protocol/invitation-line.ts';
import { freshDatabase, startPostgres } from '../../support/postgres.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { RawAgent } from '../support/raw-agent.ts';
import { invitationIn, joinWith, newToken, outcomeOf } from './joining.ts';

test('an invitation of one node is won once, by agents that use it at both nodes of a PostgreSQL database', async (t) => {
  const server = await startPostgres();
  t.after(() => server.stop());
  const database = await freshDatabase(server);
  t.after(() => database.drop());
  const options = { databaseUrl: database.url };
  const one = await TunnelWorld.open(t, { POSTERN_NODE_NAME: 'one' }, options);
  const stranger = await RawAgent.open(one);
  const agent = await RawAgent.greeted(one);
  t.after(() => {
    for (const each of [stranger, agent]) each.destroy();
  });
  const two = await TunnelWorld.open(
    t,
    { POSTERN_NODE_NAME: 'two', POSTERN_TCP_PORTS: '127.0.0.1:22000-22099', POSTERN_TUNNEL_ADDRESS: 'two.test:7444' },
    { ...options, dataDir: one.edge.world.dataDir },
  );
  await agent.message('nodes');
  assert.deepEqual(stranger.received, [], 'who has not said hello learns no address');

  const at = (line: string, world: TunnelWorld): string =>
    invitationLine({ ...invitationIn(line), gateway: `127.0.0.1:${world.port}` });
  for (let round = 0; round < 3; round += 1) {
    const { invitation } = await one.edge.api('POST', '/agent_invitations', { acl: [`bind:r${round}.localhost`] });
    const outcomes = await Promise.all([one, two].map((world) => outcomeOf(joinWith(at(invitation, world)))));
    assert.deepEqual(outcomes.toSorted(), ['ERR_POSTERN_AGENT_INVITATION', 'joined'], `round ${round}`);
  }
  // Node two has heard of neither the invitation nor, in the second attempt, the credential.
  const { invitation } = await one.edge.api('POST', '/agent_invitations', {});
  const token = newToken();
  const joined = [await joinWith(at(invitation, two), { token }), await joinWith(at(invitation, one), { token })];
  assert.equal(new Set(joined.map(({ credentialId }) => credentialId)).size, 1);
});
