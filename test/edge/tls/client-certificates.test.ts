import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { before, suite, type TestContext, test } from 'node:test';
import type { SecureVersion } from 'node:tls';
import { type Issued, issue } from './test-authority.ts';
import { exchange, openTlsWorld, until } from './tls-world.ts';

const VERSIONS: readonly SecureVersion[] = ['TLSv1.2', 'TLSv1.3'];
const HOST = 'locked.localhost';

/** What a client presents, and the failure that the front reports; null: admitted. */
interface Case {
  readonly name: string;
  readonly show: () => { readonly cert: string; readonly key: string } | Record<string, never>;
  readonly trusted?: () => readonly string[];
  readonly failure: string | null;
}

let root: Issued;
let intermediate: Issued;
let stranger: Issued;
const leaves: Record<string, Issued> = {};

before(async () => {
  root = await issue({ commonName: 'root', isCa: true });
  stranger = await issue({ commonName: 'stranger', isCa: true });
  intermediate = await issue({ commonName: 'intermediate', isCa: true, issuer: root });
  const client = { commonName: 'client', usages: ['client'] as const, dnsNames: ['client.test'] };
  leaves['good'] = await issue({ ...client, issuer: root });
  leaves['no usages'] = await issue({ commonName: 'plain', issuer: root });
  leaves['expired'] = await issue({ ...client, issuer: root, fromDays: -3, toDays: -1 });
  leaves['not yet valid'] = await issue({ ...client, issuer: root, fromDays: 1 });
  leaves['wrong ca'] = await issue({ ...client, issuer: stranger });
  leaves['wrong ca and expired'] = await issue({ ...client, issuer: stranger, fromDays: -3, toDays: -1 });
  leaves['same name, other key'] = await issue({
    ...client,
    issuer: { ...root, keys: stranger.keys },
  });
  leaves['self-signed'] = await issue(client);
  leaves['server only'] = await issue({ ...client, usages: ['server'], issuer: root });
  leaves['server only and expired'] = await issue({
    ...client,
    usages: ['server'],
    issuer: root,
    fromDays: -3,
    toDays: -1,
  });
  leaves['below intermediate'] = await issue({ ...client, issuer: intermediate });
  leaves['issued by a leaf'] = await issue({ ...client, issuer: leaves['good'] });
});

function leaf(name: string, ...chain: Issued[]) {
  const found = leaves[name];
  assert.ok(found, name);
  return { cert: [found, ...chain].map((one) => one.certificatePem).join(''), key: found.keyPem };
}

const CASES: readonly Case[] = [
  { name: 'of the trusted CA', show: () => leaf('good'), failure: null },
  { name: 'of the trusted CA without extended usages', show: () => leaf('no usages'), failure: null },
  {
    name: 'below an intermediate that the client supplies',
    show: () => leaf('below intermediate', intermediate),
    failure: null,
  },
  {
    name: 'below an intermediate that is the trust anchor',
    show: () => leaf('below intermediate'),
    trusted: () => [intermediate.certificatePem],
    failure: null,
  },
  {
    name: 'of a root when only its intermediate is trusted',
    show: () => leaf('good', root),
    trusted: () => [intermediate.certificatePem],
    failure: 'client_certificate_unknown_issuer',
  },
  { name: 'missing', show: () => ({}), failure: 'client_certificate_missing' },
  { name: 'expired', show: () => leaf('expired'), failure: 'client_certificate_expired' },
  { name: 'not yet valid', show: () => leaf('not yet valid'), failure: 'client_certificate_not_yet_valid' },
  { name: 'of another CA', show: () => leaf('wrong ca'), failure: 'client_certificate_unknown_issuer' },
  {
    name: 'of another CA, which it supplies',
    show: () => leaf('wrong ca', stranger),
    failure: 'client_certificate_unknown_issuer',
  },
  {
    name: 'of another CA and expired',
    show: () => leaf('wrong ca and expired', stranger),
    failure: 'client_certificate_*',
  },
  {
    name: "with the CA's name but not its signature",
    show: () => leaf('same name, other key'),
    failure: 'client_certificate_*',
  },
  { name: 'self-signed', show: () => leaf('self-signed'), failure: 'client_certificate_unknown_issuer' },
  {
    name: 'below an intermediate that is missing',
    show: () => leaf('below intermediate'),
    failure: 'client_certificate_unknown_issuer',
  },
  { name: 'for servers only', show: () => leaf('server only'), failure: 'client_certificate_wrong_usage' },
  {
    name: 'for servers only and expired',
    show: () => leaf('server only and expired'),
    failure: 'client_certificate_*',
  },
  {
    name: 'issued by a certificate that is no CA',
    show: () => leaf('issued by a leaf', leaves['good'] as Issued),
    failure: 'client_certificate_*',
  },
  {
    name: 'of anyone, when nobody is trusted',
    show: () => leaf('good', root),
    trusted: () => [],
    failure: 'client_certificate_unknown_issuer',
  },
];

async function openLocked(t: TestContext, trusted: readonly string[] = [root.certificatePem]) {
  const world = await openTlsWorld(t);
  world.setEdge(HOST, { clientAuthorities: trusted });
  world.setEdge('open.localhost');
  return world;
}

for (const version of VERSIONS) {
  suite(`client certificates over ${version}`, () => {
    for (const { name, show, trusted, failure } of CASES) {
      test(`${failure === null ? 'lets in' : 'gives no HTTP byte to'} one that is ${name}`, async (t) => {
        const world = await openLocked(t, trusted?.());
        const client = world.connect(HOST, { ...show(), maxVersion: version });
        const { answer } = await exchange(client, HOST);
        if (failure === null) {
          assert.match(answer, /^HTTP\/1\.1 200 /);
          assert.deepEqual(world.failures, []);
          return;
        }
        assert.equal(answer, '');
        assert.match((await world.failed(1)).join(), new RegExp(`^${failure.replace('*', '\\w+')}$`));
        assert.equal(world.connections.length, 0);
        await until(() => world.front.connectionCount === 0);
      });
    }

    test('separates the authorities of two hosts on one port', async (t) => {
      const world = await openLocked(t);
      world.setEdge('other.localhost', { clientAuthorities: [stranger.certificatePem] });
      for (const [host, name, isLetIn] of [
        [HOST, 'good', true],
        [HOST, 'wrong ca', false],
        ['other.localhost', 'good', false],
        ['other.localhost', 'wrong ca', true],
      ] as const) {
        const client = world.connect(host, { ...leaf(name), maxVersion: version });
        const { answer } = await exchange(client, host);
        assert.equal(answer !== '', isLetIn, `${name} at ${host}`);
      }
    });

    test('sends an alert when the certificate is missing', async (t) => {
      const world = await openLocked(t);
      const { error } = await exchange(world.connect(HOST, { maxVersion: version }), HOST);
      assert.match(error ?? '', /alert (certificate required|handshake failure)/);
    });
  });
}

suite('client certificates', () => {
  test('are described as verified', async (t) => {
    const world = await openLocked(t);
    const client = world.connect(HOST, leaf('good'));
    await once(client, 'secureConnect');
    await until(() => world.connections.length !== 0);
    const certificate = world.connections[0]?.clientCertificate;
    const real = new X509Certificate(leaf('good').cert);
    assert.deepEqual(certificate, {
      der: real.raw,
      subjectCommonName: 'client',
      issuerCommonName: 'root',
      serialNumber: real.serialNumber,
      fingerprint256: real.fingerprint256,
      notBeforeMs: Date.parse(real.validFrom),
      notAfterMs: Date.parse(real.validTo),
      subjectAltNames: 'DNS:client.test',
    });
  });

  test('are not requested where no edge requires them', async (t) => {
    const world = await openLocked(t);
    const client = world.connect('open.localhost', leaf('good'));
    assert.match((await exchange(client, 'open.localhost')).answer, /200/);
    assert.equal(world.connections[0]?.clientCertificate, null);
  });

  test('of the internal CAs are never accepted, not even when these CAs are listed', async (t) => {
    const world = await openTlsWorld(t);
    for (const [host, caPem] of [
      ['a.localhost', world.ca.domainCaPem],
      ['elsewhere.test', world.ca.otherCaPem],
    ] as const) {
      world.setEdge(HOST, { clientAuthorities: [caPem] });
      const minted = await world.ca.mintLeaf({ hosts: [host], ips: [], days: 1 });
      const client = world.connect(HOST, { cert: minted.certificatePem, key: minted.privateKeyPem });
      assert.equal((await exchange(client, HOST)).answer, '');
    }
    assert.deepEqual(await world.failed(2), ['client_certificate_wrong_usage', 'client_certificate_wrong_usage']);
  });

  test('of public authorities are not accepted when the list of authorities is empty', async (t) => {
    const world = await openLocked(t, []);
    const client = world.connect(HOST, leaf('self-signed'));
    assert.equal((await exchange(client, HOST)).answer, '');
  });
});
