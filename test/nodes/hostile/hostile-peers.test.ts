import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { after, suite, test } from 'node:test';
import { recordingUpstream } from '../../edge/traffic/recording-upstream.ts';
import { until } from '../../support/cluster.ts';
import { newHost } from '../../support/edge-world.ts';
import { freshDatabase, startPostgres } from '../../support/postgres.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { ask, RogueNode } from './rogue-node.ts';

const postgres = await startPostgres();
after(() => postgres.stop());
const { url: databaseUrl } = await freshDatabase(postgres);
const env = { POSTERN_SECRET_KEY: randomBytes(32).toString('base64'), POSTERN_PEER_LISTEN: '127.0.0.1:0' };
const home = await TunnelWorld.open({ after }, { ...env, POSTERN_NODE_NAME: 'home' }, { databaseUrl });
const other = await TunnelWorld.open(
  { after },
  { ...env, POSTERN_NODE_NAME: 'other', POSTERN_AUTHTOKEN: home.token },
  { databaseUrl },
);
const upstream = await recordingUpstream({ after }, 'owner');
const domain = newHost();
const agent = await home.agent([{ proto: 'https', addr: upstream.address, domain }], { connections: 1 });
const rogue = await RogueNode.open({ after }, home.edge.world.store);
const tunnelId = agent.tunnels[0]?.id ?? assert.fail();
const sessionId = agent.sessionId ?? assert.fail();
const REFUSED_STREAM = 7;
await until('both nodes follow the rogue', () => rogue.feeds >= 2);

function warnings({ edge }: TunnelWorld): readonly Record<string, unknown>[] {
  const lines = edge.world.logLines.map((line) => JSON.parse(line) as Record<string, unknown>);
  return lines.filter(({ level }) => level === 'warn' || level === 'error' || Number(level) >= 40);
}

async function peerAddressOf({ edge }: TunnelWorld, name: string): Promise<string> {
  const { body } = await edge.world.api('GET', '/nodes');
  return body.nodes.find((node: { readonly name: string }) => node.name === name).peer_address;
}

/** Both nodes serve the owner, are linked, and have no bug. */
async function unharmed(): Promise<void> {
  for (const world of [home, other]) {
    await until('the owner is served', async () => {
      const answer = await world.edge.ask(domain);
      return answer.status === 200 && JSON.parse(answer.text).name === 'owner';
    });
    assert.deepEqual(
      warnings(world).filter(({ level }) => level === 'error' || Number(level) >= 50),
      [],
    );
  }
  assert.equal(agent.status, 'online');
}

test('a certificate of the authority does not help a node that the store does not have', async (t) => {
  const stranger = await RogueNode.open(t, home.edge.world.store, { isMember: false });
  const session = await stranger.dial(t, await peerAddressOf(home, 'home'));
  await once(session, 'close');
  await until('it is logged', () => warnings(home).some(({ why }) => why === 'the store has no such node'));
  await unharmed();
});

test('rejects malformed, oversized and foreign calls of a node', async (t) => {
  const session = await rogue.dial(t, await peerAddressOf(home, 'home'));
  const call = (path: string, body: string | Buffer) => ask(session, { ':method': 'POST', ':path': path }, body);
  const cases: readonly (readonly [string, string | Buffer, number])[] = [
    ['/call/node.renew', Buffer.alloc(1 << 20, '{'), 413],
    ['/call/node.renew', '{"a":', 400],
    ['/call/node.renew', '['.repeat(30_000), 400],
    ['/call/node.renew', Buffer.alloc(2000, 0xff), 400],
    ['/call/__proto__', '{}', 404],
    ['/admin', '{}', 404],
  ];
  for (const [path, body, status] of cases) assert.equal((await call(path, body)).status, status, path);
  for (const why of [/more than \d+ bytes/, /not a JSON object/, /does not know the method/])
    assert.ok(
      warnings(home).some((line) => line['peer_id'] === rogue.id && why.test(String(line['why']))),
      String(why),
    );
  const messages = [
    {},
    { v: 'x', session: 5, session_id: null, id: [] },
    { v: 1, session: 'ts_unknown', session_id: 'ts_unknown', id: 'ts_unknown', epoch: 1 },
    { v: 1, session: sessionId, session_id: sessionId, id: sessionId, epoch: 0 },
  ];
  for (const method of ['join', 'message', 'send', 'yield', 'command', 'leave']) {
    for (const message of messages) {
      const { status, text } = await call(`/call/session.${method}`, JSON.stringify(message));
      assert.ok(status >= 200 && status < 500, `session.${method}: ${status} ${text}`);
    }
  }
  await unharmed();
});

test('refuses a stream for a tunnel of a third node: there is one hop', async (t) => {
  const session = await rogue.dial(t, await peerAddressOf(home, 'other'));
  const head = { ':method': 'GET', ':path': '/', ':scheme': 'https', 'postern-tunnel': tunnelId };
  assert.equal((await ask(session, head)).reset, REFUSED_STREAM);
  await unharmed();
});

suite('refuses and logs announcements', () => {
  const begin = { t: 'begin', v: 1, seq: 1 };
  const end = { t: 'end' };
  const stolen = (of: string, epoch: number) => (rogueId: string) => {
    const session = { id: of, credentialId: 'cr_rogue', homeNodeId: rogueId, epoch, doc: {} };
    const endpoint = { id: 'ep_rogue', proto: 'https', host: domain, port: null, modules: {}, doc: {} };
    const fields = { doc: {}, labels: null, forwardsTo: 'http://rogue', endpoint };
    const tunnel = { id: tunnelId, sessionId: of, epoch, ...fields };
    return [begin, { t: 'session', session }, { t: 'tunnel', tunnel }, end];
  };
  const cases: readonly (readonly [string, (rogueId: string) => readonly unknown[], RegExp])[] = [
    ['a line of a megabyte', () => [begin, { ...end, filler: 'x'.repeat(1 << 20) }], /more than 262144 bytes/],
    ['a line that is no JSON', () => [begin, '{"t":'], /not JSON/],
    ['a first line that is not begin', () => [end], /not begin/],
    ['an item with wrong fields', () => [begin, { t: 'tunnel', tunnel: { id: 5 } }], /wrong or missing field/],
    ['a gap in its changes', () => [begin, end, { t: 'no_session', seq: 9, id: 'ts_x' }], /missing or was repeated/],
    ["somebody else's tunnel and name, with a low epoch", stolen('ts_rogue', 0), /tunnel|name/],
    ["somebody else's session, with a replayed epoch", stolen(sessionId, 0), /another node has this session/],
    ["somebody else's session, with an epoch of the future", stolen(sessionId, 1e15), /another node has this session/],
  ];
  for (const [name, lines, why] of cases) {
    test(name, async (t) => {
      const hostile = await RogueNode.open(t, home.edge.world.store, {
        lines: (id) => lines(id).map((line) => (typeof line === 'string' ? line : JSON.stringify(line))),
      });
      for (const world of [home, other]) {
        await until('it is logged', () =>
          warnings(world).some((line) => line['peer_id'] === hostile.id && why.test(String(line['why']))),
        );
      }
      await unharmed();
    });
  }
});
