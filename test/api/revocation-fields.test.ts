import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { DAY_MS, issue } from '../edge/tls/test-authority.ts';
import {
  type CrlRequest,
  contentsOf,
  crl,
  DELTA,
  element,
  SOME_REASONS,
  scope,
  UNKNOWN_CRITICAL,
} from '../support/test-crl.ts';
import { TestWorld } from '../support/test-world.ts';

const world = await TestWorld.open({ after });
const root = await issue({ commonName: 'root', isCa: true });
const stranger = await issue({ commonName: 'stranger', isCa: true });
const alice = await issue({ commonName: 'alice', issuer: root });

const pem = async (request: Partial<CrlRequest> = {}): Promise<string> => (await crl({ issuer: root, ...request })).pem;

const armoured = (der: Buffer): string =>
  `-----BEGIN X509 CRL-----\n${der.toString('base64')}\n-----END X509 CRL-----\n`;

async function create(fields: object) {
  return world.api('POST', '/certificate_authorities', { ca_pem: root.certificatePem, ...fields });
}

const whole = (await crl({ issuer: root })).der;
const changed = Buffer.from(whole);
changed.writeUInt8((changed.at(-1) as number) ^ 1, changed.length - 1);
const REFUSED: readonly (readonly [name: string, text: string, message: RegExp])[] = [
  ['another issuer', await pem({ issuer: stranger }), /contains no list of this authority/],
  ['another signer', await pem({ signer: stranger }), /signature that is not from this authority/],
  ['a changed signature', armoured(changed), /signature that is not from this authority/],
  ['an indirect list', await pem({ extensions: [scope('indirect')] }), /is an indirect list/],
  ['attribute certificates', await pem({ extensions: [scope('onlyAttribute')] }), /attribute certificates only/],
  ['some reasons', await pem({ extensions: [SOME_REASONS] }), /only some reasons/],
  ['a delta list alone', await pem({ extensions: [DELTA] }), /contains only delta lists/],
  [
    'an unknown critical extension',
    await pem({ extensions: [UNKNOWN_CRITICAL] }),
    /critical.*1\.3\.6\.1\.4\.1\.99999\.1/,
  ],
  ['no nextUpdate', await pem({ toMs: null }), /has no nextUpdate/],
  ['a certificate', root.certificatePem, /"CERTIFICATE" block/],
  ['no PEM', 'garbage', /contains no "X509 CRL" block/],
  ['garbage in PEM', armoured(Buffer.from('garbage')), /is not a revocation list in DER/],
  ['a truncated list', armoured(whole.subarray(0, -1)), /is not a revocation list in DER/],
  ['bytes behind the list', armoured(Buffer.concat([whole, Buffer.from([0])])), /bytes after its end/],
  ['a list inside a list', armoured(element(0x30, contentsOf(whole).subarray(0, 40))), /is not a revocation list/],
  ['seventeen lists', (await pem()).repeat(17), /more than 16 PEM blocks/],
  ['too long', 'x'.repeat(524_289), /524288/],
];

suite('crl_pem', () => {
  for (const [name, text, message] of REFUSED) {
    test(`rejects ${name}`, async () => {
      const answer = await create({ crl_pem: text });
      assert.equal(answer.status, 400, answer.text);
      assert.equal(answer.body.details.field, '/crl_pem');
      assert.match(answer.body.msg, message);
    });
  }

  test('rejects a list of an authority that may not sign lists', async () => {
    const { certificatePem, keys } = await issue({ commonName: 'root', isCa: true, maySignLists: false });
    const own = { ...root, certificatePem, keys };
    const answer = await create({ ca_pem: certificatePem, crl_pem: await pem({ issuer: own }) });
    assert.equal(answer.status, 400);
    assert.match(answer.body.msg, /keyUsage lacks cRLSign/);
  });

  test('shows the list in use', async () => {
    const { status, body } = await create({ crl_pem: await pem({ number: 300, revoked: [alice] }), crl_mode: 'soft' });
    assert.equal(status, 201);
    assert.equal(body.crl_status, 'current');
    assert.equal(body.crl_number, '300');
    assert.equal(body.crl_entry_count, 1);
    assert.ok(Date.parse(body.crl_updated_at) < Date.now() && Date.now() < Date.parse(body.crl_next_update));
    assert.deepEqual([body.crl_error, body.crl_fetched_at], [null, null]);
    const stale = await pem({ fromMs: -2 * DAY_MS, toMs: -DAY_MS });
    const changed = await world.api('PATCH', `/certificate_authorities/${body.id}`, { crl_pem: stale });
    assert.equal(changed.body.crl_status, 'stale');
    assert.match(
      changed.headers.get('postern-warning') ?? '',
      /^crl: the revocation list is stale; .* without a check/,
    );
    const listed = await world.api('GET', '/certificate_authorities');
    assert.equal(listed.body.certificate_authorities[0].crl_status, 'stale');
    const off = await world.api('PATCH', `/certificate_authorities/${body.id}`, { crl_mode: 'off', crl_pem: '' });
    assert.deepEqual([off.body.crl_status, off.body.crl_updated_at], ['off', null]);
  });
});

suite('crl_mode', () => {
  test('rejects "hard" without list and URL, also as the result of a change', async () => {
    const answer = await create({ crl_mode: 'hard' });
    assert.equal(answer.status, 400);
    assert.equal(answer.body.details.field, '/crl_mode');
    const { body } = await create({ crl_mode: 'hard', crl_pem: await pem() });
    const cleared = await world.api('PATCH', `/certificate_authorities/${body.id}`, { crl_pem: '' });
    assert.equal(cleared.status, 400);
    const kept = await world.api('GET', `/certificate_authorities/${body.id}`);
    assert.deepEqual([kept.body.crl_mode, kept.body.crl_status], ['hard', 'current']);
  });

  test('rejects unknown modes', async () => {
    for (const mode of ['on', 'HARD', 1, true]) assert.equal((await create({ crl_mode: mode })).status, 400);
  });

  test('reads as "off" in a record that was written before it existed', async () => {
    const { store, replica } = world.server;
    const doc = {
      description: '',
      metadata: '',
      ca_pem: root.certificatePem,
      created_at: '2026-01-01T00:00:00.000Z',
      subject_common_name: 'root',
      not_before: '2026-01-01T00:00:00.000Z',
      not_after: '2036-01-01T00:00:00.000Z',
      key_usages: ['cert_sign'],
      extended_key_usages: [],
    };
    const key = { kind: 'certificate_authority', id: 'ca_2aaaaaaaaaaaaaaaaaaaaaaaaaa' };
    await store.commit({
      puts: [{ ...key, parent: null, doc, secrets: null, uniqueKeys: [], references: [] }],
    });
    const path = `/certificate_authorities/${key.id}`;
    const { body } = await world.api('GET', path);
    assert.deepEqual([body.crl_mode, body.crl_pem, body.crl_url, body.crl_status], ['off', '', '', 'off']);
    const before = replica.revision;
    assert.equal((await world.api('PATCH', path, {})).status, 200);
    assert.equal(replica.revision, before);
    const changed = await world.api('PATCH', path, { description: 'new' });
    assert.deepEqual([changed.body.description, changed.body.crl_mode], ['new', 'off']);
  });
});

suite('crl_url', () => {
  for (const url of [
    'ftp://a.example.com/x',
    'a.example.com/x',
    'http://user:pw@a.example.com/',
    'http://a.example.com/#x',
  ]) {
    test(`rejects ${url}`, async () => {
      const answer = await create({ crl_url: url });
      assert.equal(answer.status, 400);
      assert.equal(answer.body.details.field, '/crl_url');
    });
  }

  test('is accepted with http and https, and with a query', async () => {
    for (const url of ['http://a.example.com/x.crl', 'https://a.example.com/x?type=crl']) {
      assert.equal((await create({ crl_url: url, crl_mode: 'off' })).body.crl_url, url);
    }
  });
});
