import 'reflect-metadata';
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { suite, type TestContext, test } from 'node:test';
import type { ConnectionOptions, TLSSocket } from 'node:tls';
import { X509Certificate } from '@peculiar/x509';
import { issue } from './test-authority.ts';
import { openTlsWorld, type TlsWorld, until } from './tls-world.ts';

const HOST = 'app.apps.test';
const ACME: ConnectionOptions = { ALPNProtocols: ['acme-tls/1'], rejectUnauthorized: false };
const ACME_IDENTIFIER = '1.3.6.1.5.5.7.1.31';

async function open(t: TestContext) {
  const world = await openTlsWorld(t);
  world.setEdge(HOST);
  return world;
}

function expect(world: TlsWorld, doc: object = {}, id = 'challenge'): void {
  const whole = {
    hostname: HOST,
    type: 'tls-alpn-01',
    token: 'a-token',
    key_authorization: 'a-token.thumbprint',
    expires_at: new Date(Date.now() + 60_000).toISOString(),
    ...doc,
  };
  world.change({ op: 'put', record: { kind: 'acme_challenge', id, revision: 1, doc: whole, secrets: null } });
}

interface Outcome {
  readonly protocol: string | false | null;
  readonly certificate: X509Certificate | null;
  readonly names: string | undefined;
  readonly bytes: number;
}

/** The handshake, then what the server does with the connection. */
async function outcome(client: TLSSocket, sends = ''): Promise<Outcome> {
  let found: Omit<Outcome, 'bytes'> = { protocol: null, certificate: null, names: undefined };
  let bytes = 0;
  client.on('secureConnect', () => {
    const shown = client.getPeerX509Certificate();
    found = {
      protocol: client.alpnProtocol,
      certificate: shown === undefined ? null : new X509Certificate(shown.raw),
      names: shown?.subjectAltName,
    };
    if (sends !== '') client.write(sends);
  });
  client.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  if (!client.destroyed) await new Promise((resolve) => client.once('close', resolve));
  return { ...found, bytes };
}

function identifierOf(certificate: X509Certificate | null): Buffer {
  return Buffer.from(certificate?.getExtension(ACME_IDENTIFIER)?.value ?? new ArrayBuffer(0));
}

suite('tls-alpn-01', () => {
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    test(`proves control of the name over ${version}, closes, and never reaches HTTP`, async (t) => {
      const world = await open(t);
      expect(world);
      const client = world.connect(HOST, { ...ACME, minVersion: version, maxVersion: version });
      const { protocol, certificate, names, bytes } = await outcome(client, `GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`);
      assert.equal(protocol, 'acme-tls/1');
      assert.equal(bytes, 0);
      const identifier = certificate?.getExtension(ACME_IDENTIFIER);
      assert.equal(identifier?.critical, true);
      const digest = hash('sha256', 'a-token.thumbprint', 'hex');
      assert.equal(identifierOf(certificate).toString('hex'), `0420${digest}`);
      assert.equal(names, `DNS:${HOST}`);
      assert.deepEqual(world.connections, []);
      assert.deepEqual(world.failures, []);
      assert.equal(world.challengesAnswered, 1);
      await until(() => world.front.connectionCount === 0);
    });
  }

  test('answers in any case of letters, also for a record with capitals', async (t) => {
    const world = await open(t);
    expect(world, { hostname: 'App.apps.test' });
    assert.equal((await outcome(world.connect('aPP.Apps.TEST', ACME))).protocol, 'acme-tls/1');
  });

  test('answers for a name without an edge', async (t) => {
    const world = await open(t);
    expect(world, { hostname: 'api.apps.test' });
    assert.equal((await outcome(world.connect('api.apps.test', ACME))).protocol, 'acme-tls/1');
  });

  test('answers before mutual TLS, and gives no access to the edge', async (t) => {
    const world = await open(t);
    const authority = await issue({ commonName: 'clients', isCa: true });
    world.setEdge(HOST, { clientAuthorities: [authority.certificatePem] });
    expect(world);
    assert.equal((await outcome(world.connect(HOST, ACME))).protocol, 'acme-tls/1');
    assert.deepEqual(world.connections, []);
  });

  for (const [what, doc] of [
    ['of another name', { hostname: 'other.apps.test' }],
    ['of the parent name', { hostname: 'apps.test' }],
    ['of a wildcard', { hostname: '*.apps.test' }],
    ['of another type', { type: 'http-01' }],
    ['that has expired', { expires_at: new Date(Date.now() - 1000).toISOString() }],
    ['with an unreadable date', { expires_at: 'soon' }],
    ['without a token', { token: '' }],
    ['without a proof', { key_authorization: null }],
  ] as const) {
    test(`a challenge ${what} changes nothing`, async (t) => {
      const world = await open(t);
      expect(world, doc);
      assert.equal((await outcome(world.connect(HOST, ACME))).protocol, null);
      assert.deepEqual(await world.failed(1), ['no_shared_protocol']);
      assert.equal(world.challengesAnswered, 0);
    });
  }

  test('without a pending challenge, a known and an unknown name get today’s alerts', async (t) => {
    const world = await open(t);
    expect(world);
    world.change({ op: 'delete', key: { kind: 'acme_challenge', id: 'challenge' } });
    assert.equal((await outcome(world.connect(HOST, ACME))).protocol, null);
    assert.equal((await outcome(world.connect('stranger.apps.test', ACME))).protocol, null);
    assert.deepEqual(await world.failed(2), ['no_shared_protocol', 'unknown_name']);
  });

  test('visitors of a name with a pending challenge are served as before', async (t) => {
    const world = await open(t);
    expect(world);
    let seen = 0;
    for (const ALPNProtocols of [['h2'], ['http/1.1'], ['acme-tls/1', 'http/1.1'], ['http/1.1', 'acme-tls/1'], []]) {
      const client = world.connect(HOST, { ALPNProtocols, rejectUnauthorized: false });
      await new Promise((resolve, reject) => client.once('secureConnect', resolve).once('error', reject));
      assert.notEqual(client.alpnProtocol, 'acme-tls/1');
      seen += 1;
      await until(() => world.connections.length === seen);
      client.destroy();
    }
    assert.equal(world.challengesAnswered, 0);
  });

  test('the newest record of a name answers, and a late removal of the older one keeps it', async (t) => {
    const world = await open(t);
    expect(world, { key_authorization: 'old' }, 'one');
    expect(world, { key_authorization: 'new' }, 'two');
    world.change({ op: 'delete', key: { kind: 'acme_challenge', id: 'one' } });
    const { certificate } = await outcome(world.connect(HOST, ACME));
    assert.equal(identifierOf(certificate).subarray(2).toString('hex'), hash('sha256', 'new', 'hex'));
  });

  test('a flood of validations makes one certificate and leaves no connection', async (t) => {
    const world = await open(t);
    expect(world);
    const outcomes = await Promise.all(Array.from({ length: 200 }, () => outcome(world.connect(HOST, ACME))));
    assert.equal(new Set(outcomes.map(({ certificate }) => certificate?.serialNumber)).size, 1);
    assert.ok(outcomes.every(({ protocol }) => protocol === 'acme-tls/1'));
    await until(() => world.front.connectionCount === 0 && world.front.pendingCount === 0);
  });

  test('a client that does not close is disconnected', async (t) => {
    const world = await open(t);
    expect(world);
    const client = world.connect(HOST, { ...ACME, allowHalfOpen: true } as ConnectionOptions);
    client.resume();
    await until(() => world.challengesAnswered === 1);
    await until(() => world.front.connectionCount === 0);
  });
});
