import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { SharedEndpoints } from '../../../src/proxy/edge/tunnels/endpoints.ts';
import { DirectoryEndpoints } from '../../../src/tunnel/nodes/directory/directory-endpoints.ts';
import { until } from '../../edge/tls/tls-world.ts';
import { dial, TunnelWorld } from '../../edge/tunnels/tunnel-world.ts';
import { newHost } from '../../support/edge-world.ts';
import { announcedSession, published } from '../support/announced.ts';
import { directoryNode } from '../support/directory-node.ts';
import { FakeNetwork } from '../support/fake-network.ts';

const GRACE_MS = 500;

const world = await TunnelWorld.open({ after });
const network = new FakeNetwork();
const here = directoryNode(network, 'nd_here');
const home = directoryNode(network, 'nd_home');
const holder = directoryNode(network, 'nd_holder');
const problems = new Map<string, string>();
const warnings: object[] = [];
const shared = new SharedEndpoints(world.edge.endpoints);
const endpoints = new DirectoryEndpoints({
  publisher: shared.as('directory'),
  membership: {
    setProblem: (key, text) => {
      if (text === null) problems.delete(key);
      else problems.set(key, text.message);
    },
  },
  log: { warn: (fields) => warnings.push(fields) },
  graceMs: GRACE_MS,
  moveMs: 0,
  retryMs: 20,
});
const forAgents = endpoints.yielding(shared.as('agent'));
here.directory.follow(endpoints);
after(() => endpoints.close());
for (const other of [home, holder]) network.link(here.id, other.id);
for (const { announcer } of [home, holder]) announcer.putSession(announcedSession('ts_1', home.id));
await network.settle();

/** A tunnel of the session on another node. Its agent answers over a link that the edge of this node finds. */
async function announced(
  context: { after(done: () => Promise<void>): void },
  endpoint: Parameters<typeof published>[2],
): Promise<ReturnType<typeof published>> {
  const { id, agent } = await world.tunnel(context);
  // Only the start of a raw connection matters here.
  if (endpoint.proto === 'tcp') agent.handle = (stream) => stream.respond({ ':status': 200 });
  const tunnel = published(id, 'ts_1', endpoint);
  home.announcer.putTunnel(tunnel);
  await network.settle();
  return tunnel;
}

/** Waits until visitors of this node get a response from the agent, or a TLS alert. */
async function becomes(host: string, isServed: boolean): Promise<void> {
  while (((await world.clients.status(host).catch(() => 0)) === 200) !== isServed) await sleep(5);
}

suite('endpoints of other nodes', () => {
  test('are served here from their announcement to its end, with their modules', async (context) => {
    const host = newHost();
    const modules = { ip_restriction: { allow: ['192.0.2.0/24'], deny: [] } };
    const [open, closed] = [
      await announced(context, { host }),
      await announced(context, { host: `x.${host}`, modules }),
    ];
    await until(() => endpoints.size === 2);
    assert.equal(await world.clients.status(host), 200);
    assert.equal(await world.clients.status(`x.${host}`), 403);
    for (const { id } of [open, closed]) home.announcer.removeTunnel(id);
    await network.settle();
    await assert.rejects(world.clients.ask(host), /unrecognized name|EPROTO|alert/i);
  });

  test('stay when their node is lost and another one announces them within the grace', async (context) => {
    const host = newHost();
    const tunnel = await announced(context, { host });
    await becomes(host, true);
    network.unlink(here.id, home.id);
    assert.equal(await world.clients.status(host), 200, 'the name and its certificate stay');
    holder.announcer.putTunnel(tunnel);
    await network.settle();
    await sleep(2 * GRACE_MS);
    assert.equal(await world.clients.status(host), 200);
    network.unlink(here.id, holder.id);
    await becomes(host, false);
    for (const other of [home, holder]) network.link(here.id, other.id);
    for (const { announcer } of [home, holder]) announcer.removeTunnel(tunnel.id);
    await network.settle();
  });

  test('listen on the same tcp port; one that is in use is a problem of the node until it is free', async (context) => {
    const { first: port } = world.tcpPorts;
    const busy = createServer();
    await once(busy.listen(port, '127.0.0.1'), 'listening');
    const { id } = await announced(context, { proto: 'tcp', port });
    await until(() => problems.size === 1);
    assert.match(problems.get(`port ${port}`) ?? '', new RegExp(`port ${port} .*in use`));
    busy.close();
    await until(() => problems.size === 0);
    const socket = await dial(context, port);
    assert.equal(socket.remotePort, port);
    home.announcer.removeTunnel(id);
    await network.settle();
    await assert.rejects(dial(context, port));
  });

  test('yield to an agent of this node that was given the same name', async (context) => {
    const host = newHost();
    const { id } = await announced(context, { host });
    await becomes(host, true);
    const { id: own } = await world.tunnel(context);
    const mine = { id: 'ep_own', tunnelId: own, proto: 'https' as const, host, port: null, modules: {} };
    assert.equal((await forAgents.publish(mine)).ok, true);
    assert.equal(JSON.parse((await world.clients.ask(host)).text).name, own);
    home.announcer.removeTunnel(id);
    await network.settle();
    assert.equal(await world.clients.status(host), 200, 'withdrawn by its own agent only');
    forAgents.withdraw('ep_own');
    await assert.rejects(world.clients.ask(host), /unrecognized name|EPROTO|alert/i);
  });

  test('that this node cannot publish are logged once and tried again', async (context) => {
    const { host } = await world.clients.site(await world.clients.httpResponse('edge'));
    const { id } = await announced(context, { host });
    await until(() => warnings.length > 0);
    await sleep(100);
    assert.equal(warnings.length, 1);
    assert.equal((await world.clients.ask(host)).text, 'edge');
    home.announcer.removeTunnel(id);
    await network.settle();
  });
});
