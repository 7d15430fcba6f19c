import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, suite, test } from 'node:test';
import { AgentError } from '../../src/tunnel/agent/index.ts';
import { TunnelWorld } from '../support/tunnel-world.ts';

const world = await TunnelWorld.open({ after });
const local = createServer((_request, response) => response.end('local'));
await new Promise<void>((resolve) => {
  local.listen(0, '127.0.0.1', resolve);
});
after(() => local.close());
const { port } = local.address() as AddressInfo;

async function credential(...acl: readonly string[]): Promise<string> {
  return (await world.edge.api('POST', '/credentials', { acl })).token;
}

async function refusal(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => assert.fail('it was let in'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof AgentError, String(error));
  return `${error.code}: ${error.message}`;
}

suite('names of tunnels', () => {
  test('one agent may have a name on both listeners, and nobody else may have it on the other', async () => {
    const domain = 'both.localhost';
    const agent = await world.agent([
      { proto: 'https', addr: port, domain },
      { proto: 'http', addr: port, domain },
    ]);
    assert.deepEqual(
      agent.tunnels.map(({ publicUrl: url }) => new URL(url ?? '').protocol),
      ['https:', 'http:'],
    );
    assert.equal((await world.edge.ask(domain)).text, 'local');
    const authtoken = await credential();
    const other = await world.agent([{ proto: 'https', addr: port, domain: 'other.localhost' }], { authtoken });
    await agent.close();
    const half = await world.agent([{ proto: 'https', addr: port, domain }]);
    // The name's holder may leave: it is requested repeatedly.
    const waiting = await world.agent([{ proto: 'http', addr: port, domain }], { authtoken });
    assert.equal(waiting.tunnels[0]?.status, 'waiting');
    assert.match(waiting.tunnels[0]?.problem ?? '', /another credential/);
    await waiting.close();
    await half.close();
    await other.close();
  });

  test('refuses a name that an edge has, and an edge over the name of a tunnel', async () => {
    await world.edge.edge('mine.localhost', '*.wild.localhost');
    assert.match(await refusal(world.agent([{ proto: 'https', addr: port, domain: 'mine.localhost' }])), /NAME_TAKEN/);
    assert.match(
      await refusal(world.agent([{ proto: 'https', addr: port, domain: 'a.wild.localhost' }])),
      /NAME_TAKEN/,
    );
    const authtoken = await credential('bind:a.wild.localhost');
    const agent = await world.agent([{ proto: 'https', addr: port, domain: 'a.wild.localhost' }], { authtoken });
    assert.equal((await world.edge.ask('a.wild.localhost')).text, 'local');
    const plain = await world.agent([{ proto: 'https', addr: port, domain: 'live.localhost' }]);
    for (const hostport of ['live.localhost:443', '*.localhost:443']) {
      const answer = await world.edge.world.api('POST', '/edges/https', { hostports: [hostport] });
      assert.equal(answer.status, 409, answer.text);
      assert.match(answer.body.msg, /localhost, which an agent's tunnel uses/);
    }
    await plain.close();
    assert.equal(
      (await world.edge.world.api('POST', '/edges/https', { hostports: ['live.localhost:443'] })).status,
      201,
    );
    await agent.close();
  });

  test('enforces the acl of a credential for names, labels and ports', async () => {
    const authtoken = await credential('bind:*.team.localhost', 'bind:app=web');
    const ok = await world.agent(
      [
        { proto: 'https', addr: port, domain: 'a.team.localhost' },
        { labels: { app: 'web' }, addr: port },
      ],
      { authtoken },
    );
    for (const spec of [
      { proto: 'https' as const, addr: port, domain: 'other.localhost' },
      { proto: 'https' as const, addr: port },
      { proto: 'tcp' as const, addr: port },
      { labels: { app: 'web', env: 'prod' }, addr: port },
      { proto: 'https' as const, addr: port, domain: 'a.b.team.localhost' },
    ]) {
      assert.match(await refusal(world.agent([spec], { authtoken })), /TUNNEL_ACL/, JSON.stringify(spec));
    }
    await ok.close();
  });

  test('rejects an invalid token with advice', async () => {
    const authtoken = randomBytes(24).toString('base64url');
    assert.match(
      await refusal(world.agent([{ proto: 'https', addr: port }], { authtoken })),
      /AGENT_TOKEN.*credentials create/,
    );
  });

  test('a deleted credential ends its agents and their tunnels', async () => {
    const { id, token } = await world.edge.api('POST', '/credentials', {});
    const agent = await world.agent([{ proto: 'https', addr: port, domain: 'gone.localhost' }], { authtoken: token });
    const stopped = new Promise<string>((resolve) =>
      agent.on('status', ({ status, reason }) => {
        if (status === 'stopped') resolve(reason ?? '');
      }),
    );
    await world.edge.api('DELETE', `/credentials/${id}`);
    assert.match(await stopped, /deleted/);
    await assert.rejects(world.edge.ask('gone.localhost'));
    const { tunnels } = await world.edge.api('GET', '/tunnels');
    assert.deepEqual(
      tunnels.filter((each: { public_url: string }) => each.public_url?.includes('gone.')),
      [],
    );
  });
});
