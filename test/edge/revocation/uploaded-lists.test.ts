import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { shareOfCases } from '../../support/share-of-cases.ts';
import { type CrlRequest, crl, DELTA, hugeCrl, publishedAt, scope } from '../../support/test-crl.ts';
import { DAY_MS, issue } from '../tls/test-authority.ts';
import { type Outcome, type Presented, presents, RevocationWorld, VERSIONS } from './revocation-world.ts';

const HOUR_MS = 3_600_000;
const CRL_URL = 'http://crl.example.com/root.crl';
const REVOKED = 'client_certificate_revoked';
const UNKNOWN = 'client_certificate_revocation_unknown';

const world = await RevocationWorld.open({ after });
const root = await issue({ commonName: 'root', isCa: true });
const intermediate = await issue({ commonName: 'intermediate', issuer: root, isCa: true });
const stranger = await issue({ commonName: 'stranger', isCa: true });
const alice = await issue({ commonName: 'alice', issuer: root, usages: ['client'] });
const pointed = await issue({ commonName: 'pointed', issuer: root, usages: ['client'], crlUrl: CRL_URL });
const below = await issue({ commonName: 'below', issuer: intermediate, usages: ['client'] });

const stale = { fromMs: -2 * DAY_MS, toMs: -HOUR_MS };
const early = { fromMs: HOUR_MS, toMs: DAY_MS };
const ofRoot = (request: Partial<CrlRequest> = {}): CrlRequest => ({ issuer: root, ...request });
const ofIntermediate = (request: Partial<CrlRequest> = {}): CrlRequest => ({ issuer: intermediate, ...request });

interface Case {
  readonly name: string;
  readonly lists: readonly CrlRequest[];
  readonly client?: Presented;
  readonly soft: Outcome;
  readonly hard: Outcome;
}

const throughIntermediate = presents(below, intermediate);
const CASES: readonly Case[] = [
  { name: 'a good certificate', lists: [ofRoot()], soft: 'admitted', hard: 'admitted' },
  { name: 'a revoked certificate', lists: [ofRoot({ revoked: [alice] })], soft: REVOKED, hard: REVOKED },
  { name: 'a stale list', lists: [ofRoot(stale)], soft: 'admitted', hard: UNKNOWN },
  {
    name: 'a revoked certificate on a stale list',
    lists: [ofRoot({ ...stale, revoked: [alice] })],
    soft: REVOKED,
    hard: REVOKED,
  },
  { name: 'a list that is not yet valid', lists: [ofRoot(early)], soft: 'admitted', hard: UNKNOWN },
  {
    name: 'a list of a clock that runs a minute ahead',
    lists: [ofRoot({ fromMs: 60_000, revoked: [alice] })],
    soft: REVOKED,
    hard: REVOKED,
  },
  {
    name: 'the newer of two lists, which revokes',
    lists: [ofRoot({ number: 2, revoked: [alice] }), ofRoot({ number: 1, fromMs: -2 * HOUR_MS })],
    soft: REVOKED,
    hard: REVOKED,
  },
  {
    name: 'the newer of two lists, which no longer revokes',
    lists: [ofRoot({ number: 1, fromMs: -2 * HOUR_MS, revoked: [alice] }), ofRoot({ number: 2 })],
    soft: 'admitted',
    hard: 'admitted',
  },
  {
    name: 'a delta list, which is ignored',
    lists: [ofRoot(), ofRoot({ number: 2, extensions: [DELTA], revoked: [alice], fromMs: -60_000 })],
    soft: 'admitted',
    hard: 'admitted',
  },
  {
    name: 'a list without a number',
    lists: [ofRoot({ number: null, revoked: [alice] })],
    soft: REVOKED,
    hard: REVOKED,
  },
  {
    name: 'a list for user certificates, which revokes',
    lists: [ofRoot({ extensions: [scope('onlyUser')], revoked: [alice] })],
    soft: REVOKED,
    hard: REVOKED,
  },
  {
    name: 'a list for CA certificates, which says nothing about a user',
    lists: [ofRoot({ extensions: [scope('onlyCa')] })],
    soft: 'admitted',
    hard: UNKNOWN,
  },
  {
    name: 'a list of a distribution point that the certificate does not name',
    lists: [ofRoot({ extensions: [publishedAt(CRL_URL)] })],
    soft: 'admitted',
    hard: UNKNOWN,
  },
  {
    name: 'a list of the distribution point that the certificate names',
    lists: [ofRoot({ extensions: [publishedAt(CRL_URL)] })],
    client: presents(pointed),
    soft: 'admitted',
    hard: 'admitted',
  },
  {
    name: 'a list of its distribution point that revokes',
    lists: [ofRoot({ extensions: [publishedAt(CRL_URL)], revoked: [pointed] })],
    client: presents(pointed),
    soft: REVOKED,
    hard: REVOKED,
  },
  {
    name: 'an intermediate, with the lists of both issuers',
    lists: [ofRoot(), ofIntermediate()],
    client: throughIntermediate,
    soft: 'admitted',
    hard: 'admitted',
  },
  {
    name: 'a certificate that the intermediate revoked',
    lists: [ofRoot(), ofIntermediate({ revoked: [below] })],
    client: throughIntermediate,
    soft: REVOKED,
    hard: REVOKED,
  },
  {
    name: 'an intermediate that the root revoked',
    lists: [ofRoot({ revoked: [intermediate] }), ofIntermediate()],
    client: throughIntermediate,
    soft: REVOKED,
    hard: REVOKED,
  },
  {
    name: 'an intermediate whose list is missing',
    lists: [ofRoot()],
    client: throughIntermediate,
    soft: 'admitted',
    hard: UNKNOWN,
  },
  {
    name: 'an intermediate whose list is stale',
    lists: [ofRoot(), ofIntermediate(stale)],
    client: throughIntermediate,
    soft: 'admitted',
    hard: UNKNOWN,
  },
  {
    name: 'a revoked intermediate whose own list is missing',
    lists: [ofRoot({ revoked: [intermediate] })],
    client: throughIntermediate,
    soft: REVOKED,
    hard: REVOKED,
  },
  {
    name: 'an intermediate whose list somebody else signed',
    lists: [ofRoot(), ofIntermediate({ signer: stranger })],
    client: throughIntermediate,
    soft: 'admitted',
    hard: UNKNOWN,
  },
  {
    name: 'a forged newer list beside the genuine one of the intermediate',
    lists: [
      ofRoot(),
      ofIntermediate({ revoked: [below] }),
      ofIntermediate({ signer: stranger, number: 9, fromMs: -60_000 }),
    ],
    client: throughIntermediate,
    soft: REVOKED,
    hard: REVOKED,
  },
  {
    name: 'an intermediate, with the list of another issuer',
    lists: [ofRoot(), { issuer: stranger }],
    client: throughIntermediate,
    soft: 'admitted',
    hard: UNKNOWN,
  },
];

async function pemOf(lists: readonly CrlRequest[]): Promise<string> {
  return (await Promise.all(lists.map(crl))).map(({ pem }) => pem).join('');
}

suite('uploaded lists', () => {
  for (const [subject, { name, lists, client = presents(alice), soft, hard }] of CASES.entries()) {
    const versions = shareOfCases(VERSIONS, subject, 2);
    test(`${name}: ${soft} with soft, ${hard} with hard`, async () => {
      const id = await world.authority(root, { crl_pem: await pemOf(lists), crl_mode: 'soft' });
      await world.require(id);
      for (const maxVersion of versions) assert.equal(await world.outcome(client, { maxVersion }), soft, maxVersion);
      await world.patch(id, { crl_mode: 'hard' });
      for (const maxVersion of versions) assert.equal(await world.outcome(client, { maxVersion }), hard, maxVersion);
      await world.patch(id, { crl_mode: 'off' });
      assert.equal(await world.outcome(client), 'admitted');
    });
  }

  test('a missing list: admitted with soft and counted, rejected with hard', async () => {
    const counted = /^postern_edge_unchecked_client_certificates_total (\d+)/m;
    const id = await world.authority(root, { crl_mode: 'soft' });
    await world.require(id);
    const before = await world.counter(counted);
    for (const maxVersion of VERSIONS) assert.equal(await world.outcome(presents(alice), { maxVersion }), 'admitted');
    assert.equal(await world.counter(counted), before + VERSIONS.length);
    await world.patch(id, { crl_mode: 'hard', crl_url: 'http://127.0.0.1:1/none.crl' });
    for (const maxVersion of VERSIONS) assert.equal(await world.outcome(presents(alice), { maxVersion }), UNKNOWN);
  });

  test('an uploaded list with thousands of entries', async () => {
    const der = await hugeCrl(root, 10_000, [alice]);
    const pem = `-----BEGIN X509 CRL-----\n${der.toString('base64').replaceAll(/(.{64})(?=.)/g, '$1\n')}\n-----END X509 CRL-----\n`;
    const id = await world.authority(root, { crl_pem: pem, crl_mode: 'hard' });
    await world.require(id);
    assert.equal((await world.read(id))['crl_entry_count'], 10_001);
    assert.equal(await world.outcome(presents(alice)), REVOKED);
    assert.equal(await world.outcome(presents(pointed)), 'admitted');
  });
});

suite('several authorities on one edge', () => {
  test('an intermediate with its own record and list, below a root with hard', async () => {
    const list = (await crl(ofIntermediate({ revoked: [below] }))).pem;
    const top = await world.authority(root, { crl_pem: (await crl(ofRoot())).pem, crl_mode: 'hard' });
    const middle = await world.authority(intermediate);
    await world.require(top, middle);
    assert.equal(await world.outcome(throughIntermediate), UNKNOWN);
    await world.patch(middle, { crl_pem: (await crl(ofIntermediate())).pem, crl_mode: 'soft' });
    assert.equal(await world.outcome(throughIntermediate), 'admitted');
    await world.patch(middle, { crl_pem: list });
    assert.equal(await world.outcome(throughIntermediate), REVOKED);
    assert.equal(await world.outcome(presents(below)), REVOKED);
  });

  test('the root revokes an intermediate that the edge also trusts by itself', async () => {
    const revoking = (await crl(ofRoot({ revoked: [intermediate] }))).pem;
    const top = await world.authority(root, { crl_pem: revoking, crl_mode: 'soft' });
    await world.require(top, await world.authority(intermediate));
    assert.equal(await world.outcome(presents(below)), REVOKED);
  });

  test('an authority without a list is not affected by the mode of another', async () => {
    const other = await issue({ commonName: 'other', isCa: true });
    const bob = await issue({ commonName: 'bob', issuer: other, usages: ['client'] });
    const strict = await world.authority(root, { crl_pem: (await crl(ofRoot(stale))).pem, crl_mode: 'hard' });
    await world.require(strict, await world.authority(other));
    assert.equal(await world.outcome(presents(bob)), 'admitted');
    assert.equal(await world.outcome(presents(alice)), UNKNOWN);
  });

  test('the same authority twice: the stricter mode counts', async () => {
    const strict = await world.authority(root, { crl_pem: (await crl(ofRoot(stale))).pem, crl_mode: 'hard' });
    await world.require(await world.authority(root), strict);
    assert.equal(await world.outcome(presents(alice)), UNKNOWN);
  });
});

suite('certificates that a client adds', () => {
  test('a forged intermediate of the same name hides nothing', async () => {
    const forged = await issue({ commonName: 'intermediate', issuer: stranger, isCa: true });
    const id = await world.authority(root, {
      crl_pem: await pemOf([ofRoot({ revoked: [intermediate] }), ofIntermediate()]),
      crl_mode: 'soft',
    });
    await world.require(id);
    for (const client of [presents(below, intermediate, forged), presents(below, forged, intermediate)]) {
      assert.notEqual(await world.outcome(client), 'admitted');
    }
  });

  test('a good certificate of the same intermediate does not hide its revoked one', async () => {
    const key = { keys: intermediate.keys };
    const again = await issue({ commonName: 'intermediate', issuer: root, isCa: true, ...key });
    const id = await world.authority(root, {
      crl_pem: await pemOf([ofRoot({ revoked: [intermediate] })]),
      crl_mode: 'soft',
    });
    await world.require(id);
    assert.equal(await world.outcome(presents(below, again)), 'admitted');
    assert.equal(await world.outcome(presents(below, again, intermediate)), REVOKED);
    assert.equal(await world.outcome(presents(below, intermediate, again)), REVOKED);
  });

  test('dozens of unrelated ones change nothing', async () => {
    const id = await world.authority(root, { crl_pem: await pemOf([ofRoot({ revoked: [alice] })]), crl_mode: 'hard' });
    await world.require(id);
    const junk = Array.from({ length: 40 }, () => stranger);
    assert.equal(await world.outcome(presents(pointed, ...junk)), 'admitted');
    assert.equal(await world.outcome(presents(alice, ...junk)), REVOKED);
  });
});
