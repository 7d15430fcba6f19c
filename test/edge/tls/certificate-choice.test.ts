import assert from 'node:assert/strict';
import { once } from 'node:events';
import { before, suite, type TestContext, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import type { JsonObject } from '../../../src/kit/json.ts';
import { certificateRecord, DAY_MS, type Issued, type IssueRequest, issue } from './test-authority.ts';
import { exchange, openTlsWorld, type TlsWorld, until } from './tls-world.ts';

const HOST = 'app.apps.test';
let authority: Issued;
before(async () => {
  authority = await issue({ commonName: 'authority', isCa: true });
});

async function open(t: TestContext) {
  const world = await openTlsWorld(t);
  world.setEdge(HOST);
  return world;
}

/** Uploads a certificate whose common name is its id. */
async function upload(world: TlsWorld, id: string, names: readonly string[], more: Partial<IssueRequest> = {}) {
  const issued = await issue({ commonName: id, dnsNames: names, issuer: authority, usages: ['server'], ...more });
  world.change({ op: 'put', record: certificateRecord(id, issued, names) });
}

function reserve(world: TlsWorld, id: string, doc: JsonObject): void {
  world.change({ op: 'put', record: { kind: 'reserved_domain', id, revision: 1, doc, secrets: null } });
}

function remove(world: TlsWorld, kind: string, id: string): void {
  world.change({ op: 'delete', key: { kind, id } });
}

/** The common name of the host's certificate, or "internal". */
async function shown(world: TlsWorld, host = HOST): Promise<string> {
  const client = connectTls({ host: '127.0.0.1', port: world.port, servername: host, rejectUnauthorized: false });
  await once(client, 'secureConnect');
  const certificate = client.getPeerCertificate();
  client.destroy();
  return String(certificate.issuer.CN).startsWith('Postern internal CA') ? 'internal' : String(certificate.subject.CN);
}

suite('the certificate of a host', () => {
  test('is issued, then the wildcard, then the exact one, each from its upload on, and back', async (t) => {
    const world = await open(t);
    assert.equal(await shown(world), 'internal');
    await upload(world, 'wild', ['*.apps.test']);
    assert.equal(await shown(world), 'wild');
    await upload(world, 'exact', ['other.test', HOST]);
    assert.equal(await shown(world), 'exact');
    remove(world, 'tls_certificate', 'exact');
    assert.equal(await shown(world), 'wild');
    remove(world, 'tls_certificate', 'wild');
    assert.equal(await shown(world), 'internal');
  });

  test('is the one with the latest expiry, in any order of uploads', async (t) => {
    for (const order of [
      [10, 30, 20],
      [30, 20, 10],
      [20, 10, 30],
    ]) {
      const world = await open(t);
      for (const days of order) await upload(world, `${days} days`, [HOST], { toDays: days });
      assert.equal(await shown(world), '30 days');
      remove(world, 'tls_certificate', '30 days');
      assert.equal(await shown(world), '20 days');
    }
  });

  test('is never one that has expired, is not yet valid, or is not for servers', async (t) => {
    const world = await open(t);
    await upload(world, 'expired', [HOST], { fromDays: -9, toDays: -1 });
    await upload(world, 'early', [HOST], { fromDays: 1, toDays: 99 });
    await upload(world, 'for clients', [HOST], { usages: ['client'] });
    assert.equal(await shown(world), 'internal');
    await upload(world, 'ends soon', [HOST], { toDays: 0.5 });
    assert.equal(await shown(world), 'ends soon');
    world.clock.offsetMs = 0.6 * DAY_MS;
    assert.equal(await shown(world), 'internal');
    world.clock.offsetMs = 2 * DAY_MS;
    assert.equal(await shown(world), 'early');
  });

  test('matches a wildcard for one label only, and in any case of letters', async (t) => {
    const world = await open(t);
    world.setEdge('a.b.apps.test');
    world.setEdge('apps.test');
    await upload(world, 'wild', ['*.APPS.test']);
    assert.equal(await shown(world), 'wild');
    assert.equal(await shown(world, 'a.b.apps.test'), 'internal');
    assert.equal(await shown(world, 'apps.test'), 'internal');
  });

  test('is the one selected by its reserved domain, while that is valid', async (t) => {
    const world = await open(t);
    await upload(world, 'exact', [HOST]);
    await upload(world, 'chosen', ['elsewhere.test'], { toDays: 5 });
    reserve(world, 'rd_1', { domain: HOST, certificate_id: 'chosen', certificate_management_policy: null });
    assert.equal(await shown(world), 'chosen');
    world.clock.offsetMs = 6 * DAY_MS;
    assert.equal(await shown(world), 'exact');
    world.clock.offsetMs = 0;
    remove(world, 'reserved_domain', 'rd_1');
    assert.equal(await shown(world), 'exact');
    reserve(world, 'rd_2', { domain: '*.apps.test', certificate_id: 'chosen', certificate_management_policy: null });
    assert.equal(await shown(world), 'chosen');
    reserve(world, 'rd_3', {
      domain: HOST,
      certificate_id: '',
      certificate_management_policy: { authority: 'internal' },
    });
    assert.equal(await shown(world), 'internal');
  });

  test('follows a reserved domain whose successor is reported before its end', async (t) => {
    const world = await open(t);
    await upload(world, 'chosen', ['elsewhere.test']);
    const doc = { domain: HOST, certificate_id: '', certificate_management_policy: null };
    reserve(world, 'rd_1', doc);
    reserve(world, 'rd_2', { ...doc, certificate_id: 'chosen' });
    remove(world, 'reserved_domain', 'rd_1');
    assert.equal(await shown(world), 'chosen');
  });

  test('causes an alert when unusable, and others continue', async (t) => {
    const world = await open(t);
    world.setEdge('fine.apps.test');
    const issued = await issue({ commonName: 'broken', dnsNames: [HOST] });
    const record = certificateRecord('broken', issued, [HOST]);
    world.change({ op: 'put', record: { ...record, secrets: null } });
    await assert.rejects(shown(world), /alert internal error/);
    assert.deepEqual(await world.failed(1), ['server_certificate']);
    assert.equal(await shown(world, 'fine.apps.test'), 'internal');
  });
});

suite('issued certificates', () => {
  test('are issued once for all who wait', async (t) => {
    const world = await open(t);
    const minted: string[] = [];
    world.beforeMint = (host) => {
      minted.push(host);
    };
    await Promise.all(Array.from({ length: 20 }, () => shown(world)));
    assert.deepEqual(minted, [HOST]);
  });

  test('are dropped with their host, including pending ones and those below a wildcard', async (t) => {
    const world = await open(t);
    const { certificates } = world;
    const made = await Promise.all(
      [HOST, 'a.below.test', 'b.below.test', 'a.b.below.test'].map(async (host) =>
        certificates.certificateFor(host, true),
      ),
    );
    assert.deepEqual(certificates.forget([HOST]), [made[0]]);
    assert.deepEqual(certificates.forget([HOST]), []);
    assert.deepEqual(new Set(certificates.forget(['*.below.test'])), new Set([made[1], made[2]]));
    assert.equal(certificates.certificateFor('a.b.below.test', true), made[3]);
    const onItsWay = certificates.certificateFor(HOST);
    certificates.forget([HOST]);
    assert.ok((await onItsWay).certificatePem.length > 0, 'a waiting client is served');
    assert.deepEqual(certificates.forget([HOST]), []);
  });

  test('are renewed a month before their end, in the background', async (t) => {
    const world = await open(t);
    const before = await world.certificates.certificateFor(HOST);
    world.clock.offsetMs = 59 * DAY_MS;
    assert.equal(world.certificates.certificateFor(HOST), before);
    world.clock.offsetMs = 61 * DAY_MS;
    // Nobody waits: the old one is returned at once, and the new one soon after.
    assert.equal(world.certificates.certificateFor(HOST), before);
    await until(() => world.certificates.certificateFor(HOST) !== before);
    const after = await world.certificates.certificateFor(HOST);
    assert.ok(after.notAfterMs > before.notAfterMs + 50 * DAY_MS);
  });

  test('are still presented when renewal fails, with pauses between attempts, until they expire', async (t) => {
    const world = await open(t);
    const before = await world.certificates.certificateFor(HOST);
    let tries = 0;
    world.beforeMint = () => {
      tries += 1;
      throw new Error('disk on fire');
    };
    world.clock.offsetMs = 61 * DAY_MS;
    for (let round = 0; round < 5; round += 1) {
      assert.equal(world.certificates.certificateFor(HOST), before);
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal(tries, 1);
    world.clock.offsetMs += 61_000;
    assert.equal(world.certificates.certificateFor(HOST), before);
    assert.equal(tries, 2);
    world.clock.offsetMs = 91 * DAY_MS;
    await assert.rejects(async () => world.certificates.certificateFor(HOST), /disk on fire/);
  });

  test('are issued a few at a time: a flood of names below a wildcard is rejected', async (t) => {
    const world = await open(t);
    world.beforeMint = () => new Promise((resolve) => setTimeout(resolve, 50));
    const answers = await Promise.allSettled(
      Array.from({ length: 100 }, async (_, index) => world.certificates.certificateFor(`h${index}.localhost`)),
    );
    assert.equal(answers.filter(({ status }) => status === 'rejected').length, 36);
  });

  test('of listed hosts are issued while a flood of names below a wildcard holds every slot', async (t) => {
    const world = await openTlsWorld(t);
    world.setEdge('*.localhost');
    world.setEdge('shop.test');
    const flood = Promise.withResolvers<void>();
    world.beforeMint = (host) => (host.endsWith('.localhost') ? flood.promise : undefined);
    for (let index = 0; index < 100; index += 1) world.connect(`h${index}.localhost`);
    // 64 are being issued, the others were rejected: all slots for names below wildcards are taken.
    await world.failed(36);
    assert.equal(world.front.pendingCount, 64);
    assert.match((await exchange(world.connect('shop.test'), 'shop.test')).answer, /^HTTP\/1\.1 200/);
    flood.resolve();
  });

  test('are shared by all names below a wildcard, which cost no memory', async (t) => {
    const world = await openTlsWorld(t);
    world.setEdge('*.apps.test');
    const minted: string[] = [];
    world.beforeMint = (host) => void minted.push(host);
    const names = Array.from({ length: 500 }, (_, index) => `h${index}.apps.test`);
    const served = new Set(await Promise.all(names.map(async (name) => world.certificates.certificateFor(name))));
    assert.deepEqual([served.size, minted], [1, ['*.apps.test']]);
    for (const host of ['first.apps.test', 'second.apps.test']) {
      const client = world.connect(host);
      assert.match((await exchange(client, host)).answer, /^HTTP\/1\.1 200/, 'the client checks the name');
    }
    assert.deepEqual(world.certificates.forget(['*.apps.test']), [...served]);
  });

  test('are few for invented names below a single label, and evict none of listed hosts', async (t) => {
    const world = await openTlsWorld(t);
    const minted: string[] = [];
    const listed = await world.certificates.certificateFor('shop.localhost', true);
    for (let index = 0; index < 300; index += 1) await world.certificates.certificateFor(`h${index}.localhost`);
    assert.equal(world.certificates.certificateFor('shop.localhost', true), listed);
    world.beforeMint = (host) => void minted.push(host);
    await world.certificates.certificateFor('h299.localhost');
    await world.certificates.certificateFor('h0.localhost');
    assert.deepEqual(minted, ['h0.localhost']);
    assert.equal(world.certificates.forget(['*.localhost']).length, 257);
  });

  test('of more listed hosts than slots are issued one after the other', async (t) => {
    const world = await openTlsWorld(t);
    const hosts = Array.from({ length: 100 }, (_, index) => `h${index}.localhost`);
    for (const host of hosts) world.setEdge(host);
    const start = Promise.withResolvers<void>();
    world.beforeMint = () => start.promise;
    const clients = hosts.map((host) => exchange(world.connect(host), host));
    await until(() => world.front.pendingCount === hosts.length);
    start.resolve();
    for (const { answer } of await Promise.all(clients)) assert.match(answer, /^HTTP\/1\.1 200/);
    assert.deepEqual(world.failures, []);
  });
});
