import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { MAX_TUNNELS_PER_SESSION } from '../../../src/tunnel/protocol/protocol.ts';
import { newHost } from '../../support/edge-world.ts';
import { hostilePem } from '../../support/hostile-pem.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { eventually, hostOf, listed, localHttp } from '../support/fault-world.ts';
import { helloOf, RawAgent } from '../support/raw-agent.ts';

const world = await TunnelWorld.open({ after });

async function credential(...acl: readonly string[]): Promise<{ id: string; token: string }> {
  return world.edge.api('POST', '/credentials', { acl });
}

/** Why a bind was refused. */
async function refusalOf(agent: RawAgent, fields: Readonly<Record<string, unknown>>) {
  const answer = await agent.bind(fields);
  assert.equal(answer.t, 'unbound');
  return answer as Extract<typeof answer, { t: 'unbound' }>;
}

async function urlOf(agent: RawAgent, fields: Readonly<Record<string, unknown>>): Promise<string> {
  const answer = await agent.bind(fields);
  assert.equal(answer.t, 'bound', JSON.stringify(answer));
  return (answer as Extract<typeof answer, { t: 'bound' }>).public_url ?? '';
}

test('labels forbidden by the acl are refused, each of them, and get no traffic', async () => {
  const group = await world.edge.api('POST', '/backends/tunnel_group', { labels: { app: 'bank' } });
  const site = await world.edge.site(group.id);
  const { token } = await credential('bind:app=web');
  const agent = await RawAgent.greeted(world, { token });
  assert.equal((await agent.bind({ ref: 0, labels: { app: 'web' } })).t, 'bound');
  for (const [at, labels] of [{ app: 'bank' }, { app: 'web', zone: 'a' }, { APP: 'web' }, { app: 'web ' }].entries()) {
    const { code, retry } = await refusalOf(agent, { ref: at + 1, labels });
    assert.ok(code === 'ERR_POSTERN_TUNNEL_ACL' || code === 'ERR_POSTERN_TUNNEL_INVALID', code);
    assert.equal(retry, false);
  }
  assert.equal(await world.edge.status(site.host), 503);
  agent.destroy();
});

test('a domain, a chosen name and a port forbidden by the acl are refused', async () => {
  const { token } = await credential('bind:mine.localhost', 'bind:*.team.localhost');
  const agent = await RawAgent.greeted(world, { token });
  assert.match(await urlOf(agent, { ref: 0, proto: 'https', domain: 'mine.localhost' }), /mine\.localhost/);
  assert.match(await urlOf(agent, { ref: 1, proto: 'https', domain: 'a.team.localhost' }), /a\.team\.localhost/);
  const forbidden = ['yours.localhost', 'team.localhost', 'a.b.team.localhost', 'mine.localhost.evil.test'];
  for (const [at, domain] of forbidden.entries()) {
    const { code, message } = await refusalOf(agent, { ref: 10 + at, proto: 'https', domain });
    assert.equal(code, 'ERR_POSTERN_TUNNEL_ACL');
    assert.match(message, /add "bind:/);
  }
  assert.equal((await refusalOf(agent, { ref: 20, proto: 'https' })).code, 'ERR_POSTERN_TUNNEL_ACL');
  assert.equal((await refusalOf(agent, { ref: 21, proto: 'tcp' })).code, 'ERR_POSTERN_TUNNEL_ACL');
  agent.destroy();
});

test('rejects invalid names', async () => {
  const agent = await RawAgent.greeted(world);
  const bad = [
    '*',
    '*.localhost',
    '..',
    'a..localhost',
    '-a.localhost',
    '127.0.0.1',
    'a b.localhost',
    'a\u0000.localhost',
  ];
  for (const [ref, domain] of bad.entries()) {
    assert.equal((await refusalOf(agent, { ref, proto: 'https', domain })).code, 'ERR_POSTERN_TUNNEL_INVALID', domain);
  }
  agent.destroy();
});

test('rejects contradictions', async () => {
  const agent = await RawAgent.greeted(world);
  const wrong = [
    {},
    { proto: 'https', labels: { a: 'b' } },
    { labels: {} },
    { labels: { a: 'b' }, domain: 'x.localhost' },
    { labels: { a: 'b' }, port: 21_000 },
    { proto: 'tcp', domain: 'x.localhost' },
    { proto: 'https', port: 21_000 },
  ];
  for (const [ref, fields] of wrong.entries()) {
    const { code } = await refusalOf(agent, { ref, ...fields });
    assert.equal(code, 'ERR_POSTERN_TUNNEL_INVALID', JSON.stringify(fields));
  }
  agent.destroy();
});

test('rejects a CA certificate in PEM with encapsulated headers immediately', async () => {
  const agent = await RawAgent.greeted(world);
  const modules = { mutual_tls: { ca_pems: [hostilePem(30)] } };
  const { message } = await refusalOf(agent, { ref: 0, proto: 'https', modules });
  assert.match(message, /a CA certificate cannot be parsed/);
  agent.destroy();
});

test('a name covered by an edge, exactly or by a wildcard, needs an acl that names it', async () => {
  const exact = newHost();
  const base = newHost();
  await world.edge.edge(exact);
  await world.edge.edge(`*.${base}`);
  const free = await RawAgent.greeted(world);
  const wide = await RawAgent.greeted(world, { token: (await credential('bind:*', `bind:*.${base}`)).token });
  for (const agent of [free, wide]) {
    for (const [ref, domain] of [exact, `app.${base}`].entries()) {
      const { code, message } = await refusalOf(agent, { ref, proto: 'https', domain });
      assert.equal(code, 'ERR_POSTERN_TUNNEL_NAME_TAKEN');
      assert.match(message, /belongs to an edge/);
    }
  }
  const named = await RawAgent.greeted(world, { token: (await credential(`bind:app.${base}`, `bind:${exact}`)).token });
  assert.match(await urlOf(named, { ref: 0, proto: 'https', domain: `app.${base}` }), new RegExp(base));
  // An edge keeps its exact names, whatever the acl says.
  assert.equal(
    (await refusalOf(named, { ref: 1, proto: 'https', domain: exact })).code,
    'ERR_POSTERN_TUNNEL_NAME_TAKEN',
  );
  for (const agent of [free, wide, named]) agent.destroy();
});

test('refuses a name held by another credential, even while its agent is away', async () => {
  const port = await localHttp({ after }, (_request, response) => response.end('mine'));
  const domain = newHost();
  const owner = await world.agent([{ proto: 'https', addr: port, domain }]);
  const thief = await RawAgent.greeted(world, { token: (await credential()).token });
  const refusal = await refusalOf(thief, { ref: 0, proto: 'https', domain });
  assert.equal(refusal.code, 'ERR_POSTERN_TUNNEL_NAME_TAKEN');
  assert.match(refusal.message, /another credential/);
  assert.equal((await refusalOf(thief, { ref: 1, proto: 'http', domain })).code, 'ERR_POSTERN_TUNNEL_NAME_TAKEN');
  assert.equal((await refusalOf(thief, { ref: 2, proto: 'tls', domain })).code, 'ERR_POSTERN_TUNNEL_NAME_TAKEN');
  assert.equal((await world.edge.ask(hostOf(owner))).text, 'mine');
  await owner.close();
  const lost = await RawAgent.greeted(world);
  await urlOf(lost, { ref: 0, proto: 'https', domain });
  lost.socket.destroy();
  await eventually('the holder is away', async () => (await listed(world)).size === 0);
  assert.equal((await refusalOf(thief, { ref: 3, proto: 'https', domain })).code, 'ERR_POSTERN_TUNNEL_NAME_TAKEN');
  thief.destroy();
});

test('a foreign session is neither joined nor resumed without its secret and its credential', async () => {
  const port = await localHttp({ after }, (_request, response) => response.end('mine'));
  const owner = await world.agent([{ proto: 'https', addr: port }]);
  const session = owner.sessionId ?? '';
  const other = await credential();
  for (const token of [world.token, other.token]) {
    for (const secret of ['', 'A'.repeat(43), 'short']) {
      const joining = await RawAgent.open(world);
      joining.say(helloOf(token, { join: { session, secret } }));
      assert.equal((await joining.message('refused')).code, 'ERR_POSTERN_AGENT_SESSION');
      const resuming = await RawAgent.greeted(world, { token, resume: { session, secret } });
      const welcome = await resuming.message('welcome');
      assert.notEqual(welcome.session, session);
      assert.equal(welcome.resumed, false);
      const claimed = await resuming.bind({ ref: 0, id: owner.tunnels[0]?.id, proto: 'https', domain: hostOf(owner) });
      assert.equal(claimed.t, 'unbound');
      joining.destroy();
      resuming.destroy();
    }
  }
  const raw = await RawAgent.greeted(world);
  const { session: stolen, secret } = await raw.message('welcome');
  const thief = await RawAgent.open(world);
  thief.say(helloOf(other.token, { join: { session: stolen, secret: secret ?? '' } }));
  assert.equal((await thief.message('refused')).code, 'ERR_POSTERN_AGENT_SESSION', 'the secret alone is not enough');
  raw.destroy();
  assert.equal(owner.status, 'online');
  assert.equal((await world.edge.ask(hostOf(owner))).text, 'mine');
  await owner.close();
});

test('a secret is valid for its own session until the agent has the next one, and the old connections are cut', async () => {
  const first = await RawAgent.greeted(world);
  const { session, secret } = await first.message('welcome');
  const resume = { session, secret: secret ?? '' };
  const second = await RawAgent.greeted(world, { resume });
  await first.closed();
  assert.equal((await second.message('welcome')).resumed, true);
  // Until it says something, it may not have heard its new secret.
  await second.bind({ proto: 'https', domain: newHost() });
  const late = await RawAgent.greeted(world, { resume });
  assert.notEqual((await late.message('welcome')).session, session);
  second.destroy();
  late.destroy();
});

test(`refuses more than ${MAX_TUNNELS_PER_SESSION} tunnels of one agent, and removes them with it`, async () => {
  const agent = await RawAgent.greeted(world);
  for (let ref = 0; ref < MAX_TUNNELS_PER_SESSION; ref += 1) {
    agent.say({ t: 'bind', ref, labels: { n: String(ref) }, metadata: '', forwards_to: '' });
  }
  const { code, message } = await refusalOf(agent, { ref: 5_000, labels: { one: 'more' } });
  assert.equal(code, 'ERR_POSTERN_TUNNEL_LIMIT');
  assert.match(message, /start another agent/);
  assert.equal((await listed(world)).size, MAX_TUNNELS_PER_SESSION);
  agent.destroy();
  await eventually('nothing is listed', async () => (await listed(world)).size === 0);
});

test('the same number requested twice is one tunnel, and the last request counts', async () => {
  const agent = await RawAgent.greeted(world);
  const domain = newHost();
  const ask = (fields: object): void => {
    agent.say({ t: 'bind', ref: 0, proto: 'https', metadata: '', forwards_to: '', ...fields });
  };
  ask({ domain });
  ask({ domain });
  const [first, second] = [await agent.message('bound'), await agent.message('bound', 1)];
  assert.equal(second.id, first.id);
  ask({ domain: `other-${domain}` });
  const third = await agent.message('bound', 2);
  assert.notEqual(third.id, first.id);
  assert.deepEqual([...(await listed(world))], [third.id]);
  agent.destroy();
});
