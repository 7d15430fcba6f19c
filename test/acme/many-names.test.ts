import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { connect } from 'node:tls';
import { isIssued, untilManaged } from '../support/acme/acme-world.ts';
import { startFakeAcme } from '../support/acme/fake-acme-server.ts';
import { openNode } from '../support/acme/manager-world.ts';
import { EdgeWorld } from '../support/edge-world.ts';
import { isLong } from '../support/share-of-cases.ts';

const NAMES = isLong ? 40 : 12;

suite('many names', () => {
  test('are ordered with a bounded number of orders at a time', async (context) => {
    const fake = await startFakeAcme(context);
    const node = await openNode(context, { servers: [fake], maxOrders: 3 });
    const hosts = Array.from({ length: NAMES }, (_, index) => `n${index}.example.com`);
    await node.edge(...hosts);
    for (const host of hosts) await untilManaged(node, host, isIssued);
    assert.equal(fake.orders.length, NAMES);
    assert.ok(fake.mostOpen() <= 3, `${fake.mostOpen()} orders at once`);
  });

  test('that clients only ask for in handshakes cause no order and no record', async (context) => {
    const fake = await startFakeAcme(context);
    const edge = await EdgeWorld.open(
      context,
      { POSTERN_ACME: 'on', POSTERN_ACME_DIRECTORY: fake.directoryUrl, POSTERN_ACME_CA_FILE: fake.caFile },
      { resolveName: async () => [] },
    );
    await edge.edge('known.example.com', '*.wild.example.com');
    await untilManaged(edge.world.server, 'known.example.com', isIssued);
    const attempts = Array.from({ length: isLong ? 200 : 40 }, (_, index) => {
      const name = index % 2 === 0 ? `scan${index}.example.com` : `scan${index}.wild.example.com`;
      return new Promise<void>((resolve) => {
        const socket = connect({ host: '127.0.0.1', port: edge.port, servername: name, rejectUnauthorized: false });
        socket.on('secureConnect', () => socket.destroy());
        socket.on('error', () => {});
        socket.on('close', () => resolve());
      });
    });
    await Promise.all(attempts);
    // Something that is configured later is still ordered, and nothing else was before.
    await edge.edge('later.example.com');
    await untilManaged(edge.world.server, 'later.example.com', isIssued);
    assert.deepEqual(
      fake.orders.map(({ hostname }) => hostname),
      ['known.example.com', 'later.example.com'],
    );
    assert.equal(edge.world.server.replica.count('managed_certificate'), 2);
  });
});
