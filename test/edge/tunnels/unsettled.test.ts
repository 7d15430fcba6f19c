import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, afterEach, suite, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { dial, TunnelWorld } from './tunnel-world.ts';

/** A node that has just woken is not linked with the others yet: nobody announces their tunnels to it. */
const world = await TunnelWorld.open({ after });
const { tunnels, clients } = world;

afterEach(() => {
  tunnels.isUnsettled = false;
});

interface Visited {
  readonly ask: () => Promise<number>;
  readonly lose: () => void;
  readonly announce: () => void;
}

async function endpoint(context: TestContext): Promise<Visited> {
  const { id, agent } = await world.tunnel(context);
  const { host } = await world.publish(id);
  return {
    ask: () => clients.status(host, '/', { method: 'POST', body: 'once' }),
    lose: () => tunnels.remove(id),
    announce: () => tunnels.add(id, agent),
  };
}

async function group(context: TestContext): Promise<Visited> {
  const { id, agent } = await world.tunnel(context);
  const labels = { group: id };
  tunnels.add(id, agent, labels);
  const { host } = await world.group(labels);
  return {
    ask: () => clients.status(host, '/', { method: 'POST', body: 'once' }),
    lose: () => tunnels.remove(id),
    announce: () => tunnels.add(id, agent, labels),
  };
}

/** 200 stands for an echo. */
async function port(context: TestContext): Promise<Visited> {
  const { id, agent } = await world.tunnel(context);
  agent.handle = (stream) => {
    stream.respond({ ':status': 200 });
    stream.pipe(stream);
  };
  const published = await world.publish(id, { proto: 'tcp' });
  assert.ok(published.ok);
  const tcpPort = Number(published.hostport.split(':').at(-1));
  const echo = async (): Promise<string> => {
    const socket = await dial(context, tcpPort);
    socket.write('hello');
    const [data] = await once(socket, 'data');
    socket.destroy();
    return String(data);
  };
  // A connection is reset where HTTP has an error.
  const ask = async (): Promise<number> => ((await echo().catch(() => '')) === 'hello' ? 200 : 503);
  return { ask, lose: () => tunnels.remove(id), announce: () => tunnels.add(id, agent) };
}

for (const [name, open] of [
  ['an endpoint', endpoint],
  ['a tunnel group', group],
  ['a TCP port', port],
] as const)
  suite(`visitors of ${name} on a node without links`, () => {
    test('wait until another node announces the tunnel', async (context) => {
      const { ask, lose, announce } = await open(context);
      assert.equal(await ask(), 200);
      lose();
      tunnels.isUnsettled = true;
      const asked = ask();
      await sleep(100);
      announce();
      assert.equal(await asked, 200);
      tunnels.isUnsettled = false;
      assert.equal(await ask(), 200);
    });

    test('get the error as soon as all nodes are linked and nobody announces it', async (context) => {
      const { ask, lose } = await open(context);
      lose();
      tunnels.isUnsettled = true;
      let isOver = false;
      const asked = ask().finally(() => {
        isOver = true;
      });
      await sleep(100);
      assert.equal(isOver, false);
      tunnels.isUnsettled = false;
      assert.equal(await asked, 503);
      assert.equal(await ask(), 503);
    });

    test('do not wait indefinitely', async (context) => {
      const { ask, lose } = await open(context);
      lose();
      tunnels.isUnsettled = true;
      assert.equal(await ask(), 503);
    });
  });
