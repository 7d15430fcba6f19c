import assert from 'node:assert/strict';
import { after, beforeEach, suite, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { CLAIM_MS, CRL_FETCH_KIND, crlFetchId } from '../../../src/modules/authority-crl.ts';
import { isLong } from '../../support/share-of-cases.ts';
import { type CrlRequest, crl, DELTA, hugeCrl, scope, UNKNOWN_CRITICAL } from '../../support/test-crl.ts';
import { DAY_MS, issue } from '../tls/test-authority.ts';
import { rawExchange } from '../traffic/raw-exchange.ts';
import { recordingUpstream } from '../traffic/recording-upstream.ts';
import { eventually, openCrlServer } from './crl-server.ts';
import { presents, RevocationWorld } from './revocation-world.ts';

const REVOKED = 'client_certificate_revoked';
const UNKNOWN = 'client_certificate_revocation_unknown';
const HOUR_MS = 3_600_000;
const MANY_ENTRIES = isLong ? 200_000 : 30_000;

const clock = { offsetMs: 0, nowMs: () => Date.now() + clock.offsetMs };
const world = await RevocationWorld.open({ after }, {}, { clock });
const server = await openCrlServer({ after });
const root = await issue({ commonName: 'root', isCa: true });
const stranger = await issue({ commonName: 'stranger', isCa: true });
const alice = await issue({ commonName: 'alice', issuer: root, usages: ['client'] });
const bob = await issue({ commonName: 'bob', issuer: root, usages: ['client'] });

const list = async (request: Partial<CrlRequest> = {}): Promise<Buffer> =>
  (await crl({ issuer: root, ...request })).der;

let count = 0;
/** Another URL starts from the beginning, so no test waits for the next round. */
function newUrl(): string {
  count += 1;
  return `${server.url}?${count}`;
}

beforeEach(() => {
  clock.offsetMs = 0;
  server.answer = null;
  server.etag = null;
  server.requests.length = 0;
});

async function authority(fields: object = {}): Promise<string> {
  const id = await world.authority(root, { crl_mode: 'hard', crl_url: newUrl(), ...fields });
  await world.require(id);
  return id;
}

const fetched = (id: string) =>
  eventually(
    () => world.read(id),
    (ca) => ca['crl_fetched_at'] !== null,
  );
const failed = (id: string) =>
  eventually(
    () => world.read(id),
    (ca) => ca['crl_error'] !== null,
  );

/** The edge checks and loads a list after it was stored, which the API shows first. */
const settles = (client: typeof alice, expected: string) =>
  eventually(
    () => world.outcome(presents(client)),
    (outcome) => outcome === expected,
  );

suite('a list at a URL', () => {
  test('applies once it has arrived, in DER and in PEM', async () => {
    for (const form of ['der', 'pem'] as const) {
      server.list = (await crl({ issuer: root, number: 7, revoked: [alice] }))[form];
      const id = await authority();
      const ca = await fetched(id);
      assert.deepEqual([ca['crl_status'], ca['crl_number'], ca['crl_entry_count']], ['current', '7', 1]);
      await settles(alice, REVOKED);
      await settles(bob, 'admitted');
    }
  });

  test('is not requested while the mode is off', async () => {
    server.list = await list();
    const id = await authority({ crl_mode: 'off' });
    await world.patch(id, { description: 'changed' });
    assert.equal((await world.read(id))['crl_fetched_at'], null);
    assert.equal(server.requests.length, 0);
    await world.patch(id, { crl_mode: 'soft' });
    await fetched(id);
    assert.equal(server.requests.length, 1);
  });

  test('cuts open streams when it arrives', async (t) => {
    server.list = await list({ number: 1 });
    const id = await authority();
    await fetched(id);
    const { host, routePath } = world.site;
    const upstream = await recordingUpstream(t);
    upstream.answer = (_request, response) => {
      response.writeHead(200).write('begun');
    };
    await world.edge.api('PUT', `${routePath}/backend`, {
      backend_id: await world.edge.staticBackend(upstream.address),
    });
    t.after(() => world.edge.api('PUT', `${routePath}/backend`, { backend_id: world.backendId }));
    const open = async (client: typeof alice): Promise<TLSSocket> => {
      const socket = await world.edge.connect(host, presents(client));
      await rawExchange(socket, `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`, {
        isEnough: (soFar) => soFar.includes('begun'),
      });
      return socket;
    };
    const [revoked, kept] = [await open(alice), await open(bob)];
    const closed = new Promise((resolve) => revoked.once('close', resolve));
    server.list = await list({ number: 2, revoked: [alice] });
    await world.patch(id, { crl_url: newUrl() });
    await closed;
    assert.equal((await world.read(id))['crl_number'], '2');
    assert.equal(kept.closed, false);
    kept.destroy();
  });

  test(`with ${MANY_ENTRIES} entries is applied`, async () => {
    server.list = await hugeCrl(root, MANY_ENTRIES, [alice]);
    const id = await authority();
    const ca = await fetched(id);
    assert.equal(ca['crl_entry_count'], MANY_ENTRIES + 1);
    await settles(alice, REVOKED);
    assert.equal(await world.outcome(presents(bob)), 'admitted');
  });

  test('counts when it is newer than the uploaded one, and not when it is older', async () => {
    const uploaded = (await crl({ issuer: root, number: 5, fromMs: -HOUR_MS, revoked: [alice] })).pem;
    server.list = await list({ number: 6, fromMs: -HOUR_MS / 2 });
    const id = await authority({ crl_pem: uploaded });
    await fetched(id);
    await settles(alice, 'admitted');
    const newer = (await crl({ issuer: root, number: 7, fromMs: -1000, revoked: [bob] })).pem;
    await world.patch(id, { crl_pem: newer });
    assert.equal(await world.outcome(presents(bob)), REVOKED);
    assert.equal((await world.read(id))['crl_number'], '7');
  });

  test('is forgotten with its URL', async () => {
    server.list = await list({ revoked: [alice] });
    const id = await authority({ crl_mode: 'soft' });
    await fetched(id);
    await settles(alice, REVOKED);
    const cleared = await world.patch(id, { crl_url: '' });
    assert.deepEqual([cleared['crl_status'], cleared['crl_fetched_at']], ['missing', null]);
    assert.equal(await world.outcome(presents(alice)), 'admitted');
    const { replica } = world.edge.world.server;
    const kinds = ['certificate_authority_crl', 'certificate_authority_crl_fetch'];
    const left = async () =>
      kinds.flatMap((kind) => [...replica.all(kind)].filter((record) => record.id.startsWith(id)));
    assert.deepEqual(await eventually(left, (records) => records.length === 0), []);
  });

  test('is deleted with its authority', async () => {
    server.list = await list();
    const id = await world.authority(root, { crl_mode: 'soft', crl_url: newUrl() });
    await fetched(id);
    await world.edge.api('DELETE', `/certificate_authorities/${id}`);
    const { replica } = world.edge.world.server;
    assert.deepEqual(
      [...replica.all('certificate_authority_crl')].filter((record) => record.id.startsWith(id)),
      [],
    );
  });
});

const BAD: readonly (readonly [name: string, body: Buffer | string, error: RegExp])[] = [
  ['another issuer', await list({ issuer: stranger }), /comes from another issuer/],
  ['another signer', await list({ signer: stranger }), /signature that is not from this authority/],
  ['an indirect list', await list({ extensions: [scope('indirect')] }), /is an indirect list/],
  ['a delta list', await list({ extensions: [DELTA] }), /is a delta list/],
  ['an unknown critical extension', await list({ extensions: [UNKNOWN_CRITICAL] }), /critical extension/],
  ['not yet valid', await list({ fromMs: HOUR_MS, toMs: DAY_MS }), /is not valid before/],
  ['no nextUpdate', await list({ toMs: null }), /has no nextUpdate/],
  ['nothing', '', /is not a revocation list in DER/],
  ['a web page', '<!doctype html><title>Log in</title>', /is not a revocation list in DER/],
  ['a certificate', root.certificatePem, /"CERTIFICATE" block/],
  ['half a list', (await list()).subarray(0, 100), /is not a revocation list in DER/],
  ['17 MB', Buffer.alloc(17 * 1024 * 1024, 0x30), /larger than 16777216 bytes/],
];

suite('a list that cannot be used is reported, and rejected with hard', () => {
  for (const [name, body, error] of BAD) {
    test(name, async () => {
      server.list = body;
      const ca = await failed(await authority());
      assert.match(String(ca['crl_error']), error);
      assert.equal(ca['crl_status'], 'missing');
      assert.equal(await world.outcome(presents(alice)), UNKNOWN);
    });
  }

  test('statuses other than 200, and a redirect, which is not followed', async () => {
    for (const status of [204, 302, 304, 404, 500]) {
      server.requests.length = 0;
      server.answer = (_request, response) => response.writeHead(status, { location: `${server.url}?other` }).end();
      const url = newUrl();
      const ca = await failed(await authority({ crl_url: url }));
      assert.match(String(ca['crl_error']), new RegExp(`${status}`));
      // Authorities of earlier tests may try again at any time.
      const asked = server.requests.map((request) => new URL(request.url ?? '', server.url).search);
      assert.deepEqual(
        [asked.filter((search) => search === new URL(url).search).length, asked.includes('?other')],
        [1, false],
      );
    }
  });

  test('a server that is down, and a name that does not exist', async () => {
    for (const url of ['http://127.0.0.1:1/x.crl', 'http://nothing.invalid/x.crl']) {
      assert.match(String((await failed(await authority({ crl_url: url })))['crl_error']), /could not be fetched/);
    }
  });

  test('an address that the server may not contact', async () => {
    const { port } = world.edge.world.server.addresses.api;
    for (const url of ['http://169.254.169.254/x.crl', `http://127.0.0.1:${port}/x.crl`]) {
      assert.match(String((await failed(await authority({ crl_url: url })))['crl_error']), /could not be fetched/);
    }
  });

  test('an address that is not public, unless crl_allow_cidrs allows it, whatever answers there', async (t) => {
    const closed = await RevocationWorld.open(t, { POSTERN_CRL_ALLOW_CIDRS: '' });
    // The other world may ask the common server again meanwhile.
    const asked = await openCrlServer(t);
    const { port } = new URL(asked.url);
    const urls = [
      asked.url,
      ...['localhost', '[::1]', '0.0.0.0', '[::ffff:127.0.0.1]', '[64:ff9b::7f00:1]', '127.1', '2130706433'].map(
        (host) => `http://${host}:${port}/list.crl`,
      ),
      ...['10.255.255.1', '192.168.0.1', '172.16.0.1', '100.64.0.1', '[fd00::1]', '[fe80::1]', '169.254.169.254'].map(
        (host) => `http://${host}/list.crl`,
      ),
      // Nothing listens there.
      'http://127.0.0.1:1/list.crl',
    ];
    const errors = new Set<string>();
    for (const url of urls) {
      const id = await closed.authority(root, { crl_mode: 'hard', crl_url: url });
      const { crl_error: error } = await eventually(
        () => closed.read(id),
        (ca) => ca['crl_error'] !== null || ca['crl_fetched_at'] !== null,
      );
      errors.add(String(error).replaceAll(/address \S+/g, 'ADDRESS'));
    }
    assert.equal(asked.requests.length, 0);
    assert.equal(errors.size, 1, [...errors].join('\n'));
    assert.match([...errors][0] ?? '', /setting crl_allow_cidrs/);
  });

  test('a server that stops in the middle', async () => {
    const body = await list();
    server.answer = (_request, response) => {
      response.writeHead(200, { 'content-length': body.length }).write(body.subarray(0, 50));
      setTimeout(() => response.destroy(), 20);
    };
    assert.match(String((await failed(await authority()))['crl_error']), /could not be fetched/);
  });
});

suite('the next request', () => {
  test('sends the ETag, accepts 304, and gets a newer list', async () => {
    server.list = await list({ number: 1 });
    server.etag = '"one"';
    const id = await authority();
    const first = await fetched(id);
    clock.offsetMs += HOUR_MS;
    const again = await eventually(
      () => world.read(id),
      (ca) => ca['crl_fetched_at'] !== first['crl_fetched_at'],
    );
    assert.equal(server.requests.at(-1)?.headers['if-none-match'], '"one"');
    assert.deepEqual([again['crl_status'], again['crl_error'], again['crl_number']], ['current', null, '1']);
    server.list = await list({ number: 2, revoked: [alice] });
    server.etag = '"two"';
    clock.offsetMs += HOUR_MS;
    await eventually(
      () => world.read(id),
      (ca) => ca['crl_number'] === '2',
    );
    await settles(alice, REVOKED);
  });

  test('never replaces a list by an older one, and recovers', async () => {
    server.list = await list({ number: 5, fromMs: -HOUR_MS, revoked: [alice] });
    const id = await authority();
    await fetched(id);
    await settles(alice, REVOKED);
    for (const [older, error] of [
      [{ number: 4, fromMs: -HOUR_MS / 2 }, /number 4.*higher number 5/],
      [{ number: 6, fromMs: -2 * HOUR_MS }, /before the list in use/],
      [{ number: null, fromMs: -2 * HOUR_MS }, /before the list in use/],
    ] as const) {
      server.list = await list(older);
      await world.patch(id, { crl_url: newUrl() });
      assert.match(String((await failed(id))['crl_error']), error);
      assert.equal(await world.outcome(presents(alice)), REVOKED);
      assert.equal((await world.read(id))['crl_number'], '5');
    }
    server.list = await list({ number: 6, fromMs: -HOUR_MS / 2 });
    await world.patch(id, { crl_url: newUrl() });
    await eventually(
      () => world.read(id),
      (ca) => ca['crl_number'] === '6',
    );
    await settles(alice, 'admitted');
  });

  test('keeps the list in use while the server is down, then continues', async () => {
    server.list = await list({ number: 1, revoked: [alice] });
    const id = await authority();
    await fetched(id);
    await settles(alice, REVOKED);
    await server.stop();
    await world.patch(id, { crl_url: newUrl() });
    const down = await failed(id);
    assert.deepEqual([down['crl_status'], down['crl_number']], ['current', '1']);
    assert.equal(await world.outcome(presents(alice)), REVOKED);
    await server.start();
    server.list = await list({ number: 2 });
    clock.offsetMs += 15_000;
    const up = await eventually(
      () => world.read(id),
      (ca) => ca['crl_error'] === null && ca['crl_number'] === '2',
    );
    assert.equal(up['crl_status'], 'current');
  });

  test('waits for a process that has begun one, and not longer when that process is gone', async () => {
    server.list = await list();
    const id = await authority();
    await fetched(id);
    const { replica, store } = world.edge.world.server;
    const { kind, id: recordId, doc: before } = replica.get(CRL_FETCH_KIND, crlFetchId(id)) ?? assert.fail();
    const asked = (): number =>
      server.requests.filter(({ url = '' }) => (before['url'] as string).endsWith(url)).length;
    assert.equal(asked(), 1);
    // As a process that was killed during its request leaves it behind.
    const doc = { ...before, next_at_ms: 0, claimed_until_ms: clock.nowMs() + CLAIM_MS };
    const put = { kind, id: recordId, parent: id, doc, secrets: null, uniqueKeys: [], references: [] };
    assert.ok((await store.commit({ puts: [put] })).ok);
    // All authorities have been looked at when another one has been fetched.
    await failed(await world.authority(stranger, { crl_mode: 'soft', crl_url: newUrl() }));
    assert.equal(asked(), 1);
    clock.offsetMs += CLAIM_MS;
    await eventually(
      () => Promise.resolve(asked()),
      (count) => count === 2,
    );
  });

  test('comes before a short list is stale', async () => {
    server.list = await list({ number: 1, toMs: clock.offsetMs + HOUR_MS });
    const id = await authority();
    await fetched(id);
    server.list = await list({ number: 2 });
    assert.equal(server.requests.length, 1);
    clock.offsetMs += HOUR_MS / 2;
    await eventually(
      () => world.read(id),
      (ca) => ca['crl_number'] === '2',
    );
    await settles(alice, 'admitted');
  });
});
