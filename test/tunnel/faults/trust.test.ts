import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, suite, test } from 'node:test';
import type { AgentEvent } from '../../../src/tunnel/agent/index.ts';
import { agentFor, fakeGateway } from '../../agent/support/agent-world.ts';
import { gatewayCertificate, testAuthority } from '../../agent/support/fake-gateway.ts';
import { issue } from '../../edge/tls/test-authority.ts';
import { newHost } from '../../support/edge-world.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { eventually, hostOf, listed, localHttp, QUICK_TRIES } from '../support/fault-world.ts';

const world = await TunnelWorld.open({ after });
const port = await localHttp({ after }, (_request, response) => response.end('here'));

async function credential(acl: readonly string[] = []): Promise<{ id: string; token: string }> {
  return world.edge.api('POST', '/credentials', { acl });
}

suite('credentials', () => {
  test('a wrong token ends the agent with advice', async () => {
    await assert.rejects(world.agent([{ proto: 'https', addr: port }], { authtoken: 'wrong' }), {
      code: 'ERR_POSTERN_AGENT_TOKEN',
      message: /does not know the agent token: check it, or create one with "postern api credentials create"/,
    });
  });

  test('a deleted credential ends its sessions immediately with a reason, and no others', async () => {
    const { id, token } = await credential();
    const agent = await world.agent([{ proto: 'https', addr: port }], { authtoken: token });
    const other = await world.agent([{ proto: 'https', addr: port }]);
    const tunnel = agent.tunnels[0]?.id ?? '';
    const host = hostOf(agent);
    const stopped = once(agent, 'status');
    await world.edge.api('DELETE', `/credentials/${id}`);
    assert.notEqual(await world.edge.status(host).catch(() => 0), 200, 'it was served after the credential was gone');
    const [event] = await stopped;
    assert.deepEqual([event.status, event.code], ['stopped', 'ERR_POSTERN_AGENT_REVOKED']);
    assert.match(event.reason, /was deleted: configure another one/);
    await eventually('it is not listed', async () => !(await listed(world)).has(tunnel));
    assert.equal(other.status, 'online');
    await assert.rejects(world.agent([{ proto: 'https', addr: port }], { authtoken: token }), {
      code: 'ERR_POSTERN_AGENT_TOKEN',
    });
    await other.close();
  });

  test('a narrowed acl ends what it no longer allows, and only that', async () => {
    const [kept, lost] = [newHost(), newHost()];
    const { id, token } = await credential([`bind:${kept}`, `bind:${lost}`, 'bind:app=web']);
    const agent = await world.agent(
      [
        { proto: 'https', addr: port, domain: kept },
        { proto: 'https', addr: port, domain: lost },
        { labels: { app: 'web' }, addr: port },
      ],
      { authtoken: token },
    );
    const unbound: AgentEvent[] = [];
    agent.on('unbound', (event) => unbound.push(event));
    await world.edge.api('PATCH', `/credentials/${id}`, { acl: [`bind:${kept}`] });
    await eventually('two are gone', () => unbound.length === 2);
    assert.match((unbound[0] as { message: string }).message, /no longer allows this tunnel: it needs "bind:/);
    assert.deepEqual(
      agent.tunnels.map(({ status }) => status),
      ['online', 'refused', 'refused'],
    );
    assert.equal(await world.edge.status(kept), 200);
    assert.notEqual(await world.edge.status(lost).catch(() => 0), 200);
    const ids = await listed(world);
    assert.deepEqual(
      agent.tunnels.map((tunnel) => ids.has(tunnel.id ?? '')),
      [true, false, false],
    );
    assert.equal(agent.status, 'online');
    await agent.close();
  });

  test('an agent that reconnects with a deleted credential gets the reason', async () => {
    const { id, token } = await credential();
    const agent = await world.agent([{ proto: 'https', addr: port }], { authtoken: token, timings: QUICK_TRIES });
    const statuses: { status: string; code: string | null }[] = [];
    agent.on('status', (event) => statuses.push(event));
    await world.edge.api('DELETE', `/credentials/${id}`);
    await eventually('it has stopped', () => agent.status === 'stopped');
    assert.match(statuses.at(-1)?.code ?? '', /REVOKED|TOKEN/);
  });
});

suite('certificates', () => {
  const TUNNEL = { proto: 'https', addr: 1 } as const;

  for (const [what, fields, words] of [
    [
      'expired',
      { fromDays: -30, toDays: -1, dnsNames: ['gateway.test'] },
      /expired on .*: renew it on the server, or correct the clock/,
    ],
    ['not yet valid', { fromDays: 2, toDays: 30, dnsNames: ['gateway.test'] }, /valid only from .*: correct the clock/],
    ['of another name', { dnsNames: ['other.test'] }, /is not for "gateway.test" but for .*other\.test/],
  ] as const) {
    test(`one that is ${what} at the start ends the agent with advice, and later it waits for the renewal`, async (t) => {
      const bad = await issue({ commonName: 'x', issuer: await testAuthority(), usages: ['server'], ...fields });
      const gateway = await fakeGateway(t, { certificate: bad });
      const agent = agentFor(t, gateway, { tunnels: [TUNNEL] });
      await assert.rejects(agent.ready, { code: 'ERR_POSTERN_AGENT_CERTIFICATE', message: words });
      const healing = await fakeGateway(t);
      const later = agentFor(t, healing, { tunnels: [TUNNEL] });
      await later.ready;
      const reasons: string[] = [];
      later.on('status', ({ reason }) => reasons.push(reason ?? ''));
      healing.useCertificate(bad);
      (await healing.connection(0)).cut();
      await eventually('it says so', () => reasons.some((reason) => words.test(reason)));
      assert.equal(later.status, 'reconnecting');
      healing.useCertificate(await gatewayCertificate());
      await eventually('it is back', () => later.status === 'online');
    });
  }

  test('one of an untrusted authority ends the agent with advice', async (t) => {
    const stranger = await issue({ commonName: 'stranger', isCa: true });
    const bad = await issue({ commonName: 'x', issuer: stranger, usages: ['server'], dnsNames: ['gateway.test'] });
    const gateway = await fakeGateway(t, { certificate: bad });
    await assert.rejects(agentFor(t, gateway, { tunnels: [TUNNEL] }).ready, {
      code: 'ERR_POSTERN_AGENT_CERTIFICATE',
      message: /authority that is not trusted/,
    });
  });
});
