import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { killRound, STEPS } from '../acme/kill-rounds.ts';
import { isIssued, untilManaged } from '../support/acme/acme-world.ts';
import { startFakeAcme } from '../support/acme/fake-acme-server.ts';
import { MovedClock, openNode } from '../support/acme/manager-world.ts';

// Own process: kills nodes at every step of an order, and orders 500 certificates.
suite('ACME, at length', () => {
  for (const step of STEPS) {
    for (const isHandled of [false, true]) {
      test(`kill -9 at ${step}, which the server ${isHandled ? 'handled' : 'did not handle'}`, async (context) => {
        await killRound(context, { step, isHandled });
      });
    }
  }

  test('500 names get certificates with at most 10 orders at a time', async (context) => {
    const fake = await startFakeAcme(context);
    const node = await openNode(context, { servers: [fake], clock: new MovedClock() });
    const hosts = Array.from({ length: 500 }, (_, index) => `n${index}.example.com`);
    await node.edge(...hosts);
    for (const host of hosts) await untilManaged(node, host, isIssued, 10 * 60_000);
    assert.equal(fake.orders.length, 500);
    assert.ok(fake.mostOpen() <= 10, `${fake.mostOpen()} orders at once`);
  });
});
