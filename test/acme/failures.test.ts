import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { hasFailed, isIssued, managedDoc, untilManaged } from '../support/acme/acme-world.ts';
import {
  type FakeAcmeServer,
  type FakeAnswer,
  type FakeRequest,
  startFakeAcme,
} from '../support/acme/fake-acme-server.ts';
import { MovedClock, openNode } from '../support/acme/manager-world.ts';
import { firstOf, isLong } from '../support/share-of-cases.ts';

const MINUTE_MS = 60_000;
const HOST = 'app.example.com';

const minutesUntil = (clock: MovedClock, time: string | null | undefined): number =>
  (Date.parse(time ?? '') - clock.nowMs()) / MINUTE_MS;
/** The clock is looked at every second: after this, nothing else happens by itself. */
const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1_300));

/** A directory URL where nobody listens. */
async function deadServer(fake: FakeAcmeServer): Promise<FakeAcmeServer> {
  return { ...fake, directoryUrl: 'https://127.0.0.1:1/directory', caFile: fake.caFile };
}

suite('a failed order', () => {
  test('waits longer each time, also across restarts', async (context) => {
    const [fake, clock] = [await startFakeAcme(context), new MovedClock()];
    fake.behaviour.validate = () => 'no';
    let node = await openNode(context, { servers: [fake], clock });
    await node.edge(HOST);
    for (const [index, minutes] of [1, 5, 15].entries()) {
      const { job } = await untilManaged(node, HOST, (doc) => hasFailed(doc) && doc.job?.attempts === index + 1);
      const left = minutesUntil(clock, job?.retries_at);
      assert.ok(left > minutes - 0.3 && left <= minutes, `${left} instead of ${minutes}`);
      await node.close();
      node = await openNode(context, { servers: [fake], clock, dataDir: node.dataDir });
      if (index === 0) {
        await settle();
        assert.equal(fake.orders.length, 1);
      }
      clock.advance(minutes * MINUTE_MS);
    }
    await untilManaged(node, HOST, (doc) => hasFailed(doc) && doc.job?.attempts === 4);
    assert.equal(fake.orders.length, 4);
  });

  test('goes to the next server of the list, and the message tells about both', async (context) => {
    const fake = await startFakeAcme(context);
    const node = await openNode(context, { servers: [await deadServer(fake), fake] });
    await node.edge(HOST);
    const doc = await untilManaged(node, HOST, isIssued);
    assert.equal(doc.directory_url, fake.directoryUrl);

    fake.behaviour.validate = () => 'no';
    await node.edge('second.example.com');
    const { job } = await untilManaged(node, 'second.example.com', hasFailed);
    assert.match(job?.msg ?? '', /127\.0\.0\.1:1\/directory: .*ECONNREFUSED.* \| tls-alpn-01 failed/);
  });

  test('leaves a server alone until its Retry-After, while another one is tried', async (context) => {
    const [limited, other, clock] = [await startFakeAcme(context), await startFakeAcme(context), new MovedClock()];
    limited.behaviour.intercept = ({ resource }) =>
      resource === 'newOrder'
        ? limited.problem(429, 'rateLimited', 'too many certificates already issued', { 'retry-after': '7200' })
        : null;
    other.behaviour.validate = () => 'no';
    const node = await openNode(context, {
      servers: [limited, other],
      clock,
      caFile: await bothTrusted(limited, other),
    });
    await node.edge(HOST);
    const first = await untilManaged(node, HOST, hasFailed);
    assert.deepEqual(Object.keys(first.job?.holds ?? {}), [limited.directoryUrl]);
    clock.advance(2 * MINUTE_MS);
    await untilManaged(node, HOST, (doc) => hasFailed(doc) && doc.job?.attempts === 2);
    const ordersAt = (server: FakeAcmeServer): number =>
      server.requests.filter(({ resource }) => resource === 'newOrder').length;
    assert.deepEqual([ordersAt(limited), ordersAt(other)], [1, 2]);
    clock.advance(121 * MINUTE_MS);
    await untilManaged(node, HOST, (doc) => hasFailed(doc) && doc.job?.attempts === 3);
    assert.equal(ordersAt(limited), 2);
  });

  test('waits for the Retry-After of the only server, and says why', async (context) => {
    const [fake, clock] = [await startFakeAcme(context), new MovedClock()];
    fake.behaviour.intercept = ({ resource }) =>
      resource === 'newOrder' ? fake.problem(429, 'rateLimited', 'too many orders', { 'retry-after': '10000' }) : null;
    const node = await openNode(context, { servers: [fake], clock });
    await node.edge(HOST);
    const { job } = await untilManaged(node, HOST, hasFailed);
    assert.equal(job?.error_code, 'ERR_POSTERN_ACME_RATE_LIMITED');
    assert.match(job?.msg ?? '', /rejected the order: too many orders \(rateLimited\)/);
    assert.ok(minutesUntil(clock, job?.retries_at) > 165);
    clock.advance(100 * MINUTE_MS);
    await settle();
    assert.equal(managedDoc(node, HOST)?.job?.attempts, 1);
  });

  test('of a server that is down is retried when it is back', async (context) => {
    const [fake, clock] = [await startFakeAcme(context), new MovedClock()];
    fake.behaviour.intercept = () => ({ status: 503, type: 'text/html', body: '<h1>maintenance</h1>' });
    const node = await openNode(context, { servers: [fake], clock });
    await node.edge(HOST);
    const { job } = await untilManaged(node, HOST, hasFailed);
    assert.match(job?.msg ?? '', /did not return its directory: HTTP status 503/);
    fake.behaviour.intercept = null;
    clock.advance(2 * MINUTE_MS);
    await untilManaged(node, HOST, isIssued);
  });
});

suite('a server that cannot be used', () => {
  test('is given up when it does not answer in time', async (context) => {
    const fake = await startFakeAcme(context);
    fake.behaviour.intercept = ({ resource }) => (resource === 'newOrder' ? 'hang' : null);
    const node = await openNode(context, { servers: [fake], timeoutMs: 2_000 });
    await node.edge(HOST);
    const { job } = await untilManaged(node, HOST, hasFailed);
    assert.equal(job?.error_code, 'ERR_POSTERN_ACME_UNREACHABLE');
    assert.match(job?.msg ?? '', /\/newOrder: no complete response within 2000 ms/);
  });

  test('is rejected when its certificate is not trusted, and the message names acme_ca_file', async (context) => {
    const [fake, other] = [await startFakeAcme(context), await startFakeAcme(context)];
    const node = await openNode(context, { servers: [fake], caFile: other.caFile });
    await node.edge(HOST);
    const { job } = await untilManaged(node, HOST, hasFailed);
    assert.match(job?.msg ?? '', /certificate.*set acme_ca_file to its CA certificate/);
    assert.equal(fake.requests.length, 0);
  });

  test('because acme_ca_file is missing is tried again when the file is there', async (context) => {
    const [fake, clock] = [await startFakeAcme(context), new MovedClock()];
    const caFile = `${fake.caFile}.later`;
    const node = await openNode(context, { servers: [fake], clock, caFile });
    await node.edge(HOST);
    const { job } = await untilManaged(node, HOST, hasFailed);
    assert.match(job?.msg ?? '', /cannot read acme_ca_file .* \(ENOENT\)/);
    await writeFile(caFile, 'not a certificate');
    clock.advance(2 * MINUTE_MS);
    const second = await untilManaged(node, HOST, (doc) => hasFailed(doc) && doc.job?.attempts === 2);
    assert.match(second.job?.msg ?? '', /cannot read acme_ca_file .* \(it contains no PEM block\)/);
    await writeFile(caFile, await readFile(fake.caFile));
    clock.advance(6 * MINUTE_MS);
    await untilManaged(node, HOST, isIssued);
  });
});

const answer = (body: unknown, type = 'application/json', status = 200): FakeAnswer => ({
  status,
  type,
  body: typeof body === 'string' ? body : JSON.stringify(body),
});

/** What a hostile or broken server sends for a resource, and the message that it gets. */
const HOSTILE: readonly [resource: string, sent: FakeAnswer, message: RegExp][] = [
  ['directory', answer('x'.repeat(600_000)), /larger than 524288 bytes/],
  ['directory', answer('<html>', 'text/html'), /sent "text\/html" instead of JSON/],
  ['directory', answer('[]'), /is not an ACME directory/],
  ['directory', answer('{'), /instead of JSON|not an ACME directory/],
  ['directory', answer({ newNonce: 'http://127.0.0.1/plain' }), /"newNonce" is not an https URL/],
  ['directory', { status: 302, headers: { location: 'https://127.0.0.1:1/' } }, /redirects are not followed/],
  ['newNonce', { headers: { 'replay-nonce': 'a b' } }, /returned no nonce/],
  ['newAccount', answer({ status: 'valid' }), /the account has no https Location/],
  ['newAccount', { ...answer({}), headers: { location: 'http://127.0.0.1/account' } }, /no https Location/],
  ['newOrder', answer([]), /has no https Location/],
  ['newOrder', order({ status: 'odd' }), /no known status/],
  ['newOrder', order({ authorizations: ['file:///etc/passwd'] }), /"authorizations" of the order are not https URLs/],
  ['newOrder', order({ authorizations: Array(1000).fill('https://127.0.0.1/a') }), /"authorizations" of the order/],
  ['newOrder', order({ finalize: 7 }), /"finalize" of the order is not an https URL/],
  ['newOrder', order({ status: 'valid', certificate: 'http://127.0.0.1/' }), /"certificate" of the order/],
  ['authorization', answer({ status: 'pending', challenges: 'none' }), /no status or challenges/],
  ['authorization', answer({ status: 'pending', challenges: [null, 7, {}] }), /offers none, and acme_challenges/],
  ['authorization', challenges({ token: '../../etc/passwd-and-more' }), /offers none/],
  ['certificate', answer('-----BEGIN', 'application/pem-certificate-chain'), /the issued certificate cannot be used/],
  ['certificate', answer('{}', 'application/json'), /instead of application\/pem-certificate-chain/],
];

function order(fields: object): FakeAnswer {
  const url = 'https://127.0.0.1:1/x';
  const body = { status: 'pending', identifiers: [], authorizations: [url], finalize: url, ...fields };
  return { ...answer(body), status: 201, headers: { location: url } };
}

function challenges(fields: object): FakeAnswer {
  const one = { type: 'http-01', url: 'https://127.0.0.1:1/c', status: 'pending', token: 'x'.repeat(22), ...fields };
  return answer({ status: 'pending', challenges: [one] });
}

test('a hostile server causes a failed job with a clear message', async (context) => {
  const [fake, clock] = [await startFakeAcme(context), new MovedClock()];
  let sent: [string, FakeAnswer] | null = null;
  fake.behaviour.intercept = ({ resource }: FakeRequest) => (sent?.[0] === resource ? sent[1] : null);
  // Each resource once; the long form tries every answer.
  const tried = HOSTILE.filter(([resource], at) => isLong || HOSTILE.findIndex(([other]) => other === resource) === at);
  for (const [index, [resource, given, message]] of tried.entries()) {
    sent = [resource, given];
    // A server and an account of its own each: directories are kept for an hour.
    const node = await openNode(context, { servers: [fake], clock });
    await node.edge(`h${index}.example.com`);
    const { job } = await untilManaged(node, `h${index}.example.com`, hasFailed, 20_000);
    assert.match(job?.msg ?? '', message, `${resource} ${JSON.stringify(given).slice(0, 200)}`);
    await node.close();
  }
});

for (const finalized of firstOf(['ready', 'pending'])) {
  test(`a server that loops from ready to ${finalized} is given up after bounded time`, async (context) => {
    const [fake, clock] = [await startFakeAcme(context), new MovedClock()];
    const wait = async (ms: number): Promise<void> => clock.advance(ms);
    fake.behaviour.intercept = ({ resource }) => {
      if (resource !== 'finalize' && resource !== 'order') return null;
      const status = resource === 'finalize' ? finalized : 'ready';
      return order({ status, authorizations: [`${origin}/authorization/1`], finalize: `${origin}/finalize/1` });
    };
    const origin = new URL(fake.directoryUrl).origin;
    const node = await openNode(context, { servers: [fake], clock, wait });
    await node.edge(HOST);
    const { job } = await untilManaged(node, HOST, hasFailed);
    assert.equal(job?.error_code, 'ERR_POSTERN_ACME_PENDING');
    assert.ok(fake.requests.length < 300, `${fake.requests.length} requests`);
  });
}

test('no message and no log line contains a key', async (context) => {
  const [fake, clock] = [await startFakeAcme(context), new MovedClock()];
  const key = 'zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W';
  fake.behaviour.intercept = ({ resource }) =>
    resource === 'newAccount' ? fake.problem(403, 'unauthorized', 'unknown key id') : null;
  const binding = { keyId: 'kid-1', key };
  const account = { binding, onlyDirectoryUrl: fake.directoryUrl };
  const node = await openNode(context, { servers: [fake], clock, account });
  await node.edge(HOST);
  const { job } = await untilManaged(node, HOST, hasFailed);
  assert.equal(job?.error_code, 'ERR_POSTERN_ACME_ACCOUNT');
  assert.match(job?.msg ?? '', /rejected the account: unknown key id \(unauthorized\)/);
  assert.doesNotMatch(JSON.stringify([job, node.log]), /zWND|PRIVATE KEY|"d":/);
});

async function bothTrusted(...servers: readonly FakeAcmeServer[]): Promise<string> {
  const [first] = servers;
  const pems = await Promise.all(servers.map(({ caFile }) => readFile(caFile, 'utf8')));
  const path = `${first?.caFile}.both`;
  await writeFile(path, pems.join('\n'));
  return path;
}

test('a directory that leads to another port is refused there, and the message names the setting', async (context) => {
  const [fake, elsewhere] = [await startFakeAcme(context), await startFakeAcme(context)];
  const { origin } = new URL(elsewhere.directoryUrl);
  let asked = 0;
  elsewhere.behaviour.intercept = () => {
    asked += 1;
    return null;
  };
  const own = new URL(fake.directoryUrl).origin;
  const urls = { newNonce: `${own}/newNonce`, newAccount: `${own}/newAccount`, newOrder: `${origin}/newOrder` };
  fake.behaviour.intercept = ({ path }) =>
    path === '/directory' ? { type: 'application/json', body: JSON.stringify(urls) } : null;
  const node = await openNode(context, { servers: [fake] });
  await node.edge(HOST);
  const { job } = await untilManaged(node, HOST, hasFailed);
  assert.ok(job?.msg?.includes(`add ${origin} to acme_origins`), String(job?.msg));
  assert.equal(asked, 0);
});
