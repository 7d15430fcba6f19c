import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AgentSession, type BoundTunnel } from './agent-session.ts';
import { HeldNames, TunnelNames } from './tunnel-names.ts';

test('takes a name over once from an offline session whose end waits for the store', async () => {
  const ended: string[] = [];
  const held = new HeldNames();
  const names = new TunnelNames(held, {
    domain: 'example',
    identityHostname: null,
    isCoveredByEdge: () => false,
    endSession: () => assert.fail('it was offline'),
    endTunnel: ({ id }) => void ended.push(id),
  });
  const hello = { agent_version: '1', os: 'linux', metadata: '', remote_management: false };
  const session = new AgentSession({ id: 'ts_old', credentialId: 'cr_1', startedAt: '', hello });
  held.hold('app.example', { id: 'tn_old', proto: 'https', session } as BoundTunnel);
  const freed = await names.free({ id: 'ts_new', credentialId: 'cr_1' }, 'app.example', 'https');
  assert.deepEqual([freed, ended], [{ host: 'app.example' }, ['tn_old']]);
});
