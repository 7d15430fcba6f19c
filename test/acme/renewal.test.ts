import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { renewalId } from '../../src/proxy/acme/client/issued-certificate.ts';
import { hasFailed, isIssued, managedDoc, untilManaged } from '../support/acme/acme-world.ts';
import { type FakeAcmeServer, startFakeAcme } from '../support/acme/fake-acme-server.ts';
import { MovedClock, openNode } from '../support/acme/manager-world.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const HOST = 'app.example.com';

const at = (clock: MovedClock, ms: number): string => new Date(clock.nowMs() + ms).toISOString();
const isAnother = (serial: string | null) => (doc: Parameters<typeof isIssued>[0]) =>
  isIssued(doc) && doc.serial_number !== serial;
/** The clock is looked at every second. */
const settled = (fake: FakeAcmeServer): Promise<number> =>
  new Promise((resolve) => setTimeout(() => resolve(fake.orders.length), 1_500));

suite('renewal', () => {
  test('happens at two thirds of the life of a six-day certificate', async (context) => {
    const clock = new MovedClock();
    const fake = await startFakeAcme(context, clock);
    fake.behaviour.lifeSeconds = (6 * DAY_MS) / 1000;
    const node = await openNode(context, { servers: [fake], clock });
    await node.edge(HOST);
    const first = await untilManaged(node, HOST, isIssued);
    clock.advance(4 * DAY_MS - HOUR_MS);
    assert.equal(await settled(fake), 1);
    clock.advance(2 * HOUR_MS);
    await untilManaged(node, HOST, isAnother(first.serial_number));
    assert.equal(fake.orders.length, 2);
  });

  test('of certificates that are nearly over waits between two orders', async (context) => {
    const clock = new MovedClock();
    const fake = await startFakeAcme(context, clock);
    fake.behaviour.lifeSeconds = 1;
    const node = await openNode(context, { servers: [fake], clock });
    await node.edge(HOST);
    await untilManaged(node, HOST, isIssued);
    clock.advance(MINUTE_MS / 2);
    assert.equal(await settled(fake), 1);
    clock.advance(MINUTE_MS);
    await context.waitFor(() => assert.equal(fake.orders.length, 2), { timeout: 20_000 });
  });

  test('keeps the old certificate while it fails, and reports once that it expires', async (context) => {
    const clock = new MovedClock();
    const fake = await startFakeAcme(context, clock);
    const events: string[] = [];
    const node = await openNode(context, {
      servers: [fake],
      clock,
      event: (type) => {
        events.push(type);
        return [];
      },
    });
    await node.edge(HOST);
    const first = await untilManaged(node, HOST, isIssued);
    fake.behaviour.validate = () => 'no';
    clock.advance(61 * DAY_MS);
    const failed = await untilManaged(node, HOST, hasFailed);
    assert.equal(failed.certificate_pem, first.certificate_pem);
    assert.deepEqual(events, ['certificate_issued.v0', 'certificate_failed.v0']);
    for (const attempts of [2, 3]) {
      clock.advance(attempts === 2 ? 12 * DAY_MS : HOUR_MS);
      await untilManaged(node, HOST, (doc) => hasFailed(doc) && doc.job?.attempts === attempts);
    }
    assert.deepEqual(events.slice(2), ['certificate_failed.v0', 'certificate_expiring.v0', 'certificate_failed.v0']);
    fake.behaviour.validate = () => true;
    clock.advance(HOUR_MS);
    await untilManaged(node, HOST, isAnother(first.serial_number));
  });
});

suite('renewal information of the server (RFC 9773)', () => {
  test('decides about the time, and the new order names the certificate that it replaces', async (context) => {
    const clock = new MovedClock();
    const fake = await startFakeAcme(context, clock);
    const window = { start: at(clock, 10 * DAY_MS), end: at(clock, 12 * DAY_MS), retryAfter: '21600' };
    const asked: string[] = [];
    fake.behaviour.renewal = (id) => {
      asked.push(id);
      return window;
    };
    const node = await openNode(context, { servers: [fake], clock });
    await node.edge(HOST);
    const first = await untilManaged(node, HOST, (doc) => isIssued(doc) && doc.renewal_checked_at !== null);
    assert.ok((first.renews_at as string) >= window.start && (first.renews_at as string) <= window.end);
    assert.equal(asked[0], renewalId(first.certificate_pem as string));
    assert.match(asked[0] as string, /^[\w-]{27}\.[\w-]{22}$/);
    const waitMs = Date.parse(first.renewal_check_at as string) - Date.parse(first.renewal_checked_at as string);
    assert.equal(Math.round(waitMs / MINUTE_MS), 360);

    clock.advance(7 * HOUR_MS);
    await untilManaged(node, HOST, (doc) => isIssued(doc) && doc.renewal_checked_at !== first.renewal_checked_at);
    assert.equal(managedDoc(node, HOST)?.renews_at, first.renews_at);

    // The certificate is going to be revoked: the window moves to the past.
    window.start = at(clock, -2 * DAY_MS);
    window.end = at(clock, -DAY_MS);
    clock.advance(7 * HOUR_MS);
    await context.waitFor(() => assert.equal(fake.orders.length, 2), { timeout: 20_000 });
    assert.equal(fake.orders[1]?.request['replaces'], asked[0]);
  });

  test('whose window is always over causes one order in an hour', async (context) => {
    const clock = new MovedClock();
    const fake = await startFakeAcme(context, clock);
    fake.behaviour.renewal = () => ({ start: at(clock, -2 * DAY_MS), end: at(clock, -DAY_MS), retryAfter: '0' });
    const node = await openNode(context, { servers: [fake], clock });
    await node.edge(HOST);
    await untilManaged(node, HOST, (doc) => isIssued(doc) && doc.renewal_checked_at !== null);
    clock.advance(50 * MINUTE_MS);
    assert.equal(await settled(fake), 1);
    clock.advance(15 * MINUTE_MS);
    await context.waitFor(() => assert.equal(fake.orders.length, 2), { timeout: 20_000 });
    assert.equal(await settled(fake), 2);
  });

  test('is ignored when it makes no sense, and an order without "replaces" follows one that is rejected', async (context) => {
    const clock = new MovedClock();
    const fake = await startFakeAcme(context, clock);
    fake.behaviour.renewal = () => ({ start: at(clock, 2 * DAY_MS), end: at(clock, DAY_MS) });
    fake.behaviour.intercept = ({ resource, payload }) =>
      resource === 'newOrder' && payload?.['replaces'] !== undefined
        ? fake.problem(409, 'alreadyReplaced', 'the certificate was replaced before')
        : null;
    const node = await openNode(context, { servers: [fake], clock });
    await node.edge(HOST);
    const first = await untilManaged(node, HOST, isIssued);
    const lifeMs = Date.parse(first.not_after as string) - Date.parse(first.not_before as string);
    assert.equal(
      Date.parse(first.renews_at as string) - Date.parse(first.not_before as string),
      Math.round((lifeMs * 2) / 3),
    );
    clock.advance(61 * DAY_MS);
    await untilManaged(node, HOST, isAnother(first.serial_number));
    assert.deepEqual(
      fake.orders.map(({ request }) => request['replaces']),
      [undefined, undefined],
    );
  });
});
