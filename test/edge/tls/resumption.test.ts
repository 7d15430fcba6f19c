import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { before, suite, test } from 'node:test';
import type { ConnectionOptions, SecureVersion } from 'node:tls';
import type { SharedSecret } from '../../../src/proxy/edge/tls/host-servers.ts';
import { openInternalCa } from '../../support/internal-ca.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { certificateRecord, type Issued, issue } from './test-authority.ts';
import { exchange, openTlsWorld, type TlsWorld } from './tls-world.ts';

let authority: Issued;
let otherAuthority: Issued;
let client: Issued;

before(async () => {
  authority = await issue({ commonName: 'authority', isCa: true });
  otherAuthority = await issue({ commonName: 'other authority', isCa: true });
  client = await issue({ commonName: 'client', usages: ['client'], issuer: authority });
});

interface Visit {
  readonly answer: string;
  readonly isReused: boolean;
  readonly session: Buffer | null;
}

async function visit(world: TlsWorld, host: string, options: ConnectionOptions): Promise<Visit> {
  const socket = world.connect(host, { ...options, checkServerIdentity: () => undefined });
  let session: Buffer | null = null;
  // TLS 1.2 sends it with the handshake, TLS 1.3 some time after.
  socket.on('session', (given: Buffer) => {
    session = given;
  });
  let isReused = false;
  socket.on('secureConnect', () => {
    isReused = socket.isSessionReused();
  });
  const { answer } = await exchange(socket, host);
  return { answer, isReused, session };
}

for (const version of ['TLSv1.2', 'TLSv1.3'] as const satisfies readonly SecureVersion[]) {
  suite(`resumption over ${version}`, () => {
    const plain: ConnectionOptions = { maxVersion: version };
    const certified = (): ConnectionOptions => ({ ...plain, cert: client.certificatePem, key: client.keyPem });
    const locked = () => ({ clientAuthorities: [authority.certificatePem] });

    /** A session that resumes where it was created, so that the following checks mean something. */
    async function sessionOf(world: TlsWorld, host: string): Promise<Buffer> {
      const { session } = await visit(world, host, plain);
      assert.ok(session);
      const again = await visit(world, host, { ...plain, session });
      assert.equal(again.isReused, true);
      assert.match(again.answer, /200/);
      assert.equal(world.handshakes.at(-1)?.isResumed, true);
      return again.session ?? session;
    }

    test('works at the same host, whose edge is that of the peeked name', async (t) => {
      const world = await openTlsWorld(t);
      world.setEdge('open.localhost');
      await sessionOf(world, 'open.localhost');
      assert.deepEqual(
        world.connections.map((connection) => connection.servername),
        ['open.localhost', 'open.localhost'],
      );
    });

    test('does not carry over to another host', async (t) => {
      const world = await openTlsWorld(t);
      world.setEdge('a.localhost');
      world.setEdge('b.localhost');
      const session = await sessionOf(world, 'a.localhost');
      const { answer, isReused } = await visit(world, 'b.localhost', { ...plain, session });
      assert.equal(isReused, false);
      assert.match(answer, /200/);
    });

    test('does not carry over to a host that requires certificates, even under one shared certificate', async (t) => {
      const world = await openTlsWorld(t);
      const names = ['open.localhost', 'locked.localhost'];
      const shared = await issue({ commonName: 'shared', dnsNames: names, issuer: authority });
      world.setEdge('open.localhost');
      world.setEdge('locked.localhost', locked());
      for (const isShared of [false, true]) {
        if (isShared) world.change({ op: 'put', record: certificateRecord('cert_1', shared, names) });
        const trust = { ...plain, ca: [world.ca.domainCaPem, authority.certificatePem] };
        const { session } = await visit(world, 'open.localhost', trust);
        assert.ok(session);
        const { answer } = await visit(world, 'locked.localhost', { ...trust, session });
        assert.equal(answer, '');
      }
      assert.deepEqual(await world.failed(2), ['client_certificate_missing', 'client_certificate_missing']);
    });

    test('ends when certificates are required, and does not come back with them', async (t) => {
      const world = await openTlsWorld(t);
      world.setEdge('app.localhost');
      const session = await sessionOf(world, 'app.localhost');
      world.setEdge('app.localhost', locked());
      assert.equal((await visit(world, 'app.localhost', { ...plain, session })).answer, '');
      assert.deepEqual(await world.failed(1), ['client_certificate_missing']);
      const { answer, isReused } = await visit(world, 'app.localhost', { ...certified(), session });
      assert.match(answer, /200/);
      assert.equal(isReused, false);
    });

    test('is never offered where certificates are required: each connection proves itself', async (t) => {
      const world = await openTlsWorld(t);
      world.setEdge('app.localhost', locked());
      const { answer, session } = await visit(world, 'app.localhost', certified());
      assert.match(answer, /200/);
      const kept = session === null ? {} : { session };
      const again = await visit(world, 'app.localhost', { ...certified(), ...kept });
      assert.match(again.answer, /200/);
      assert.equal(again.isReused, false);
      assert.equal((await visit(world, 'app.localhost', { ...plain, ...kept })).answer, '');
      // The authority is replaced by another: neither the certificate nor the earlier session helps.
      world.setEdge('app.localhost', { clientAuthorities: [otherAuthority.certificatePem] });
      assert.equal((await visit(world, 'app.localhost', { ...certified(), ...kept })).answer, '');
      assert.deepEqual(await world.failed(2), ['client_certificate_missing', 'client_certificate_unknown_issuer']);
      // A host without requirements treats the visitor like anyone.
      world.setEdge('open.localhost');
      const open = await visit(world, 'open.localhost', { ...plain, ...kept });
      assert.match(open.answer, /200/);
      assert.equal(open.isReused, false);
    });

    test('ends when the minimum version is raised, and when the certificate changes', async (t) => {
      const world = await openTlsWorld(t);
      world.setEdge('app.localhost');
      const session = await sessionOf(world, 'app.localhost');
      world.setEdge('app.localhost', { minVersion: 'TLSv1.3' });
      const raised = await visit(world, 'app.localhost', { ...plain, session });
      assert.equal(raised.isReused, false);
      assert.equal(raised.answer === '', version === 'TLSv1.2');
      world.setEdge('app.localhost');
      const uploaded = await issue({ commonName: 'new', dnsNames: ['app.localhost'], issuer: authority });
      world.change({ op: 'put', record: certificateRecord('cert_1', uploaded, ['app.localhost']) });
      const trust = { ...plain, ca: [authority.certificatePem] };
      assert.equal((await visit(world, 'app.localhost', { ...trust, session })).isReused, false);
    });

    test('with leaves of the internal CA works after a restart and on other nodes, which have leaves of their own', async (t) => {
      const secret: SharedSecret = (text) => createHmac('sha256', 'installation').update(text).digest();
      const clock = { nowMs: () => Date.now() };
      const openCa = async () => openInternalCa({ dataDir: await tempDir(t), domain: 'localhost', clock });
      const ca = await openCa();
      const nodes = [
        await openTlsWorld(t, {}, secret, ca),
        await openTlsWorld(t, {}, secret, ca),
        await openTlsWorld(t, {}, secret, await openCa()),
      ];
      for (const node of nodes) {
        for (const host of ['app.localhost', 'other.localhost', '*.apps.localhost']) node.setEdge(host);
        node.setEdge('locked.localhost', locked());
      }
      const [one, two, foreign] = nodes as [TlsWorld, TlsWorld, TlsWorld];
      for (const host of ['app.localhost', 'x.apps.localhost']) {
        const { session } = await visit(one, host, plain);
        assert.ok(session);
        const again = { ...plain, session };
        assert.equal((await visit(two, host, again)).isReused, true, host);
        assert.equal((await visit(two, 'other.localhost', again)).isReused, false, 'another name');
        assert.equal((await visit(two, 'locked.localhost', again)).answer, '', 'client certificates');
        assert.equal(
          (await visit(foreign, host, { ...again, rejectUnauthorized: false })).isReused,
          false,
          'another CA',
        );
      }
    });

    test('works on another node for the same certificate, policy and day, and for nothing else', async (t) => {
      const secretOf =
        (key: string): SharedSecret =>
        (text) =>
          createHmac('sha256', key).update(text).digest();
      const nodes: TlsWorld[] = [];
      for (const key of ['installation', 'installation', 'another'])
        nodes.push(await openTlsWorld(t, {}, secretOf(key)));
      const [one, two, foreign] = nodes as [TlsWorld, TlsWorld, TlsWorld];
      const names = ['app.localhost', 'locked.localhost'];
      const shared = await issue({ commonName: 'shared', dnsNames: names, issuer: authority });
      const renewed = await issue({ commonName: 'shared', dnsNames: names, issuer: authority });
      for (const node of nodes) {
        for (const host of names) node.setEdge(host);
        node.change({ op: 'put', record: certificateRecord('cert_1', shared, names) });
      }
      const trust = { ...plain, ca: [authority.certificatePem] };
      const { session } = await visit(one, 'app.localhost', trust);
      assert.ok(session);
      const isReused = async (world: TlsWorld, host = 'app.localhost'): Promise<boolean> =>
        (await visit(world, host, { ...trust, session })).isReused;
      assert.equal(await isReused(two), true);
      assert.equal(await isReused(foreign), false, 'another secret key');
      two.setEdge('locked.localhost', locked());
      assert.equal((await visit(two, 'locked.localhost', { ...trust, session })).answer, '');
      two.setEdge('app.localhost', { minVersion: 'TLSv1.3' });
      assert.equal(await isReused(two).catch(() => false), false, 'another policy');
      two.setEdge('app.localhost');
      two.clock.offsetMs = 24 * 60 * 60 * 1000;
      assert.equal(await isReused(two), false, 'another day');
      two.clock.offsetMs = 0;
      two.change({ op: 'put', record: { ...certificateRecord('cert_1', renewed, names), revision: 2 } });
      assert.equal(await isReused(two), false, 'another certificate');
      two.change({ op: 'put', record: { ...certificateRecord('cert_1', shared, names), revision: 3 } });
      assert.equal(await isReused(two), true);
    });

    test('ends after a day, when the ticket keys change', async (t) => {
      const world = await openTlsWorld(t);
      world.setEdge('app.localhost');
      const session = await sessionOf(world, 'app.localhost');
      world.clock.offsetMs = 25 * 60 * 60 * 1000;
      assert.equal((await visit(world, 'app.localhost', { ...plain, session })).isReused, false);
    });
  });
}

suite('renegotiation', () => {
  test('is rejected', async (t) => {
    const world = await openTlsWorld(t);
    world.setEdge('app.localhost');
    const socket = world.connect('app.localhost', { maxVersion: 'TLSv1.2' });
    await once(socket, 'secureConnect');
    const error = await new Promise<Error | null>((resolve) => {
      socket.renegotiate({}, resolve);
      socket.once('error', resolve);
    });
    assert.match(error?.message ?? '', /no renegotiation/);
  });
});
