import assert from 'node:assert/strict';
import { createPublicKey } from 'node:crypto';
import { suite, test } from 'node:test';
import { NEXT_PRIVATE_KEY, PRIVATE_KEY } from '../../src/proxy/acme/records.ts';
import { hasFailed, isIssued, managedDoc, managedRecord, untilManaged } from '../support/acme/acme-world.ts';
import { startFakeAcme } from '../support/acme/fake-acme-server.ts';
import { MovedClock, openNode } from '../support/acme/manager-world.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const HOST = 'app.example.com';

suite('an order', () => {
  test('stores the keys of account and order before the server hears of them', async (context) => {
    const fake = await startFakeAcme(context);
    const seen: Record<string, unknown>[] = [];
    fake.behaviour.intercept = ({ resource }) => {
      if (resource === 'newAccount') seen.push({ accounts: node.replica.count('acme_account') });
      if (resource !== 'newOrder') return null;
      const { doc, secrets } = managedRecord(node, HOST) ?? {};
      seen.push({
        order: (doc?.['order'] as { state: string } | undefined)?.state,
        hasKey: secrets?.[NEXT_PRIVATE_KEY] !== undefined,
      });
      return null;
    };
    const node = await openNode(context, { servers: [fake] });
    await node.edge(HOST);
    await untilManaged(node, HOST, isIssued);
    assert.deepEqual(seen, [{ accounts: 1 }, { order: 'creating', hasKey: true }]);
    assert.deepEqual(Object.keys(managedRecord(node, HOST)?.secrets ?? {}), [PRIVATE_KEY]);
    assert.deepEqual(node.outcomes, ['issued']);
  });

  test('tries the next challenge after a failure, and begins with the successful one later', async (context) => {
    const [fake, clock] = [await startFakeAcme(context), new MovedClock()];
    fake.behaviour.validate = (_host, type) => type === 'http-01' || 'Connection refused';
    const node = await openNode(context, { servers: [fake], clock });
    await node.edge(HOST);
    await untilManaged(node, HOST, hasFailed);
    clock.advance(2 * MINUTE_MS);
    const issued = await untilManaged(node, HOST, isIssued);
    assert.equal(issued.challenge_type, 'http-01');
    clock.advance(61 * DAY_MS);
    await untilManaged(node, HOST, (doc) => isIssued(doc) && doc.serial_number !== issued.serial_number);
    assert.deepEqual(
      fake.orders.map(({ type }) => type),
      ['tls-alpn-01', 'http-01', 'http-01'],
    );
  });

  test('tells what DNS says and what the server saw, and is tried although the lookup fails', async (context) => {
    const fake = await startFakeAcme(context);
    fake.behaviour.validate = () => '192.0.2.7: Invalid response from http://app.example.com/.well-known: 404';
    const node = await openNode(context, { servers: [fake], resolve: async () => ['192.0.2.7'] });
    await node.edge(HOST);
    const { job } = await untilManaged(node, HOST, hasFailed);
    assert.equal(job?.error_code, 'ERR_POSTERN_ACME_CHALLENGE');
    assert.match(job?.msg ?? '', /app\.example\.com resolves to 192\.0\.2\.7, which is not an address of this server/);
    assert.match(job?.msg ?? '', /tls-alpn-01 failed for app\.example\.com: .* 404 \(unauthorized\)/);

    fake.behaviour.validate = () => true;
    const failing = async (): Promise<never> => {
      throw Object.assign(new Error('queryA ENOTFOUND'), { code: 'ENOTFOUND' });
    };
    const other = await openNode(context, { servers: [fake], resolve: failing });
    await other.edge('other.example.com');
    await untilManaged(other, 'other.example.com', isIssued);
  });

  test('that is stuck in processing is continued later and not repeated', async (context) => {
    const [fake, clock] = [await startFakeAcme(context), new MovedClock()];
    fake.behaviour.processing = Number.POSITIVE_INFINITY;
    // Waiting moves the clock, so that ten minutes pass at once.
    const wait = async (ms: number): Promise<void> => clock.advance(ms);
    const node = await openNode(context, { servers: [fake], clock, wait });
    await node.edge(HOST);
    const stuck = await untilManaged(node, HOST, hasFailed);
    assert.equal(stuck.job?.error_code, 'ERR_POSTERN_ACME_PENDING');
    assert.match(stuck.job?.msg ?? '', /still processing the order .* within 10 minutes/);
    assert.equal(stuck.order?.state, 'finalizing');
    for (const order of fake.orders) order.processingLeft = 0;
    clock.advance(2 * MINUTE_MS);
    await untilManaged(node, HOST, isIssued);
    assert.equal(fake.orders.length, 1);
  });

  test('whose creation was not answered is found in the list of orders', async (context) => {
    const [fake, clock] = [await startFakeAcme(context), new MovedClock()];
    fake.behaviour.loses = ({ resource }) => resource === 'newOrder';
    const node = await openNode(context, { servers: [fake], clock, timeoutMs: 2_000 });
    await node.edge(HOST);
    const { order } = await untilManaged(node, HOST, hasFailed);
    assert.equal(order?.state, 'creating');
    fake.behaviour.loses = null;
    clock.advance(2 * MINUTE_MS);
    await untilManaged(node, HOST, isIssued);
    assert.equal(fake.orders.length, 1);
  });

  test('asks for the configured profile where the server offers it', async (context) => {
    const [fake, plain] = [await startFakeAcme(context), await startFakeAcme(context)];
    fake.behaviour.profiles = { classic: 'ninety days', shortlived: 'six days' };
    for (const [server, expected] of [
      [fake, 'shortlived'],
      [plain, undefined],
    ] as const) {
      const node = await openNode(context, { servers: [server], profile: 'shortlived' });
      await node.edge(HOST);
      await untilManaged(node, HOST, isIssued);
      assert.equal(server.orders[0]?.request['profile'], expected);
    }
  });

  test('gets a key of the type that the policy of a reserved domain names', async (context) => {
    const fake = await startFakeAcme(context);
    const node = await openNode(context, { servers: [fake] });
    const domain = (type: string) => ({
      domain: HOST,
      certificate_id: '',
      certificate_management_policy: { authority: 'letsencrypt', private_key_type: type },
    });
    await node.put('reserved_domain', 'rd_1', domain('rsa'));
    const first = await untilManaged(node, HOST, isIssued);
    assert.match(managedRecord(node, HOST)?.secrets?.[PRIVATE_KEY] ?? '', /BEGIN PRIVATE KEY.{1000}/);
    await node.put('reserved_domain', 'rd_1', domain('ecdsa'));
    await untilManaged(node, HOST, (doc) => isIssued(doc) && doc.serial_number !== first.serial_number);
    assert.doesNotMatch(managedRecord(node, HOST)?.secrets?.[PRIVATE_KEY] ?? '', /BEGIN PRIVATE KEY.{1000}/);
  });

  test('registers again with the same key when the server has lost the account', async (context) => {
    const [fake, clock] = [await startFakeAcme(context), new MovedClock()];
    const node = await openNode(context, { servers: [fake], clock });
    await node.edge(HOST);
    const first = await untilManaged(node, HOST, isIssued);
    const accounts = fake.accounts as Map<string, { key: { export(options: object): object } }>;
    const before = [...accounts.values()][0]?.key.export({ format: 'jwk' });
    accounts.clear();
    clock.advance(61 * DAY_MS);
    await untilManaged(node, HOST, hasFailed);
    clock.advance(2 * MINUTE_MS);
    await untilManaged(node, HOST, (doc) => isIssued(doc) && doc.serial_number !== first.serial_number);
    assert.deepEqual([...accounts.values()][0]?.key.export({ format: 'jwk' }), before);
  });

  test('changes the key of the account when it is old, and finishes a change that was interrupted', async (context) => {
    const [fake, clock] = [await startFakeAcme(context), new MovedClock()];
    const node = await openNode(context, { servers: [fake], clock, account: { keyDays: 30 } });
    await node.edge(HOST);
    await untilManaged(node, HOST, isIssued);
    const secret = (): string | undefined => [...node.replica.all('acme_account')][0]?.secrets?.[PRIVATE_KEY];
    const first = secret();
    // The server changes the key, but its answer is lost.
    fake.behaviour.intercept = ({ resource }) => {
      if (resource !== 'keyChange') return null;
      fake.behaviour.intercept = null;
      const payload = fake.requests.at(-1)?.payload;
      const header = JSON.parse(Buffer.from(String(payload?.['protected']), 'base64url').toString()) as { jwk: never };
      changeKeyOf(fake, header.jwk);
      return { status: 503, type: 'text/plain', body: 'gone' };
    };
    clock.advance(31 * DAY_MS);
    await node.edge('second.example.com');
    await untilManaged(node, 'second.example.com', hasFailed);
    clock.advance(10 * MINUTE_MS);
    await untilManaged(node, 'second.example.com', isIssued);
    assert.notEqual(secret(), first);
    assert.deepEqual(Object.keys([...node.replica.all('acme_account')][0]?.secrets ?? {}), [PRIVATE_KEY]);
  });

  test('changes the email address of the account', async (context) => {
    const [fake, clock] = [await startFakeAcme(context), new MovedClock()];
    const first = await openNode(context, { servers: [fake], clock, account: { email: 'old@example.com' } });
    await first.edge(HOST);
    await untilManaged(first, HOST, isIssued);
    await first.close();
    const second = await openNode(context, {
      servers: [fake],
      clock,
      dataDir: first.dataDir,
      account: { email: 'new@example.com' },
    });
    await second.edge('second.example.com');
    await untilManaged(second, 'second.example.com', isIssued);
    const change = fake.requests.find(({ resource, payload }) => resource === 'account' && payload !== null);
    assert.deepEqual(change?.payload, { contact: ['mailto:new@example.com'] });
    assert.equal(fake.accounts.size, 1);
  });
});

suite('a name that nobody asks for', () => {
  test('keeps its certificate for a day, and is then forgotten', async (context) => {
    const [fake, clock] = [await startFakeAcme(context), new MovedClock()];
    const node = await openNode(context, { servers: [fake], clock });
    const id = await node.edge(HOST);
    const first = await untilManaged(node, HOST, isIssued);
    await node.remove('https_edge', id);
    await untilManaged(node, HOST, ({ unwanted_since }) => unwanted_since !== null);
    // The records are looked at again for another name.
    await node.edge('other.example.com');
    await untilManaged(node, 'other.example.com', isIssued);
    assert.notEqual(managedDoc(node, HOST), undefined);
    const restored = await node.edge(HOST);
    const again = await untilManaged(node, HOST, ({ unwanted_since }) => unwanted_since === null);
    assert.equal(again.serial_number, first.serial_number);
    assert.equal(fake.orders.length, 2);
    await node.remove('https_edge', restored);
    await untilManaged(node, HOST, ({ unwanted_since }) => unwanted_since !== null);
    clock.advance(25 * HOUR_MS);
    await context.waitFor(() => assert.equal(managedDoc(node, HOST), undefined), { timeout: 10_000 });
  });
});

function changeKeyOf(fake: Awaited<ReturnType<typeof startFakeAcme>>, jwk: never): void {
  const accounts = fake.accounts as Map<string, unknown>;
  const [url] = accounts.keys();
  accounts.set(String(url), { key: createPublicKey({ key: jwk, format: 'jwk' }), contact: [] });
}
