import assert from 'node:assert/strict';
import { once } from 'node:events';
import { suite, test } from 'node:test';
import { isLong } from '../../support/share-of-cases.ts';
import { exchange, openTlsWorld, until } from './tls-world.ts';

const CLIENTS = isLong ? 200 : 60;

suite('many handshakes', () => {
  test(`${CLIENTS} at a time, at twenty hosts, each gets its own certificate`, async (t) => {
    const world = await openTlsWorld(t);
    const hosts = Array.from({ length: 20 }, (_, index) => `h${index}.localhost`);
    for (const host of hosts) world.setEdge(host);
    const clients = Array.from({ length: CLIENTS }, async (_, index) => {
      const host = hosts[index % hosts.length] ?? '';
      const client = world.connect(host);
      await once(client, 'secureConnect');
      assert.equal(client.getPeerCertificate().subjectaltname, `DNS:${host}`);
      return exchange(client, host);
    });
    for (const { answer } of await Promise.all(clients)) assert.match(answer, /^HTTP\/1\.1 200/);
    assert.deepEqual(world.failures, []);
    assert.equal(world.handshakes.length, CLIENTS);
    await until(() => world.front.connectionCount === 0);
  });

  test('do not grow the number of servers kept beyond its bound', async (t) => {
    const world = await openTlsWorld(t, { maxHostServers: 3 });
    world.setEdge('*.localhost');
    for (let round = 0; round < 2; round += 1) {
      for (let index = 0; index < 6; index += 1) {
        const host = `h${index}.localhost`;
        assert.match((await exchange(world.connect(host), host)).answer, /200/);
      }
    }
  });
});
