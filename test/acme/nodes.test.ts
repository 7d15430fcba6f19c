import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { isIssued, managedDoc, untilManaged } from '../support/acme/acme-world.ts';
import { startFakeAcme } from '../support/acme/fake-acme-server.ts';
import { type AcmeNode, MovedClock, openNode } from '../support/acme/manager-world.ts';
import { freshDatabase, type PostgresServer, startPostgres } from '../support/postgres.ts';
import { isLong } from '../support/share-of-cases.ts';

let postgres: PostgresServer;
before(async () => {
  postgres = await startPostgres();
});
after(() => postgres.stop());

suite('several nodes on one database', () => {
  test('order each name once, with no more orders at a time than allowed for all together', async (context) => {
    const fake = await startFakeAcme(context);
    const database = await freshDatabase(postgres);
    context.after(() => database.drop());
    const open = () => openNode(context, { servers: [fake], databaseUrl: database.url, maxOrders: 4 });
    const nodes: AcmeNode[] = [await open(), await open(), await open()];
    const hosts = Array.from({ length: isLong ? 24 : 12 }, (_, index) => `n${index}.example.com`);
    await nodes[0]?.edge(...hosts);
    for (const node of nodes) for (const host of hosts) await untilManaged(node, host, isIssued);
    assert.deepEqual(fake.orders.map(({ hostname }) => hostname).sort(), [...hosts].sort());
    assert.ok(fake.mostOpen() <= 4, `${fake.mostOpen()} orders at once`);
    assert.equal(fake.accounts.size, 1);
    for (const node of nodes) await node.close();
  });

  test('continue the order of a node that died, when its lease has ended', async (context) => {
    const [fake, clock] = [await startFakeAcme(context), new MovedClock()];
    const database = await freshDatabase(postgres);
    context.after(() => database.drop());
    const shared = { servers: [fake], databaseUrl: database.url, clock };
    fake.behaviour.intercept = ({ resource }) => (resource === 'finalize' ? 'hang' : null);
    const first = await openNode(context, shared);
    await first.edge('a.example.com');
    await untilManaged(first, 'a.example.com', ({ order }) => order?.state === 'finalizing');
    const second = await openNode(context, shared);
    await context.waitFor(() => assert.ok(fake.requests.some(({ resource }) => resource === 'finalize')), {
      timeout: 20_000,
    });
    fake.behaviour.intercept = null;
    // The first node hangs, and its lease ends by the clock.
    clock.advance(3 * 60_000);
    const doc = await untilManaged(second, 'a.example.com', isIssued);
    assert.equal(fake.orders.length, 1);
    await first.close();
    // Late writes of the first node were refused.
    assert.equal(managedDoc(second, 'a.example.com')?.serial_number, doc.serial_number);
    await second.close();
  });
});
