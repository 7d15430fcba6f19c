import assert from 'node:assert/strict';
import { once } from 'node:events';
import { before, suite, type TestContext, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import type { JsonObject } from '../../../src/kit/json.ts';
import { certificateRecord, DAY_MS, type Issued, type IssueRequest, issue, managedRecord } from './test-authority.ts';
import { exchange, openTlsWorld, type TlsWorld, until } from './tls-world.ts';

const HOST = 'app.apps.test';
let authority: Issued;
before(async () => {
  authority = await issue({ commonName: 'authority', isCa: true });
});

async function open(t: TestContext): Promise<TlsWorld> {
  const world = await openTlsWorld(t);
  world.setEdge(HOST);
  return world;
}

function issued(name: string, dnsNames = [HOST], more: Partial<IssueRequest> = {}): Promise<Issued> {
  return issue({ commonName: name, dnsNames, issuer: authority, usages: ['server'], ...more });
}

function manage(world: TlsWorld, hostname: string, pair: Issued | null, doc: object = {}): void {
  world.change({ op: 'put', record: managedRecord(`mc_${hostname}`, hostname, pair, doc) });
}

function reserve(world: TlsWorld, doc: JsonObject): void {
  const whole = { domain: HOST, ...doc };
  world.change({ op: 'put', record: { kind: 'reserved_domain', id: 'rd_1', revision: 1, doc: whole, secrets: null } });
}

async function handshake(world: TlsWorld, host = HOST): Promise<TLSSocket> {
  const client = world.connect(host, { rejectUnauthorized: false });
  await once(client, 'secureConnect');
  return client;
}

/** The common name of the host's certificate, or "internal". */
async function shown(world: TlsWorld, host = HOST): Promise<string> {
  const client = await handshake(world, host);
  const { issuer, subject } = client.getPeerCertificate();
  assert.match((await exchange(client, host)).answer, /^HTTP\/1\.1 200/);
  return String(issuer.CN).startsWith('Postern internal CA') ? 'internal' : String(subject.CN);
}

suite('a certificate from an ACME server', () => {
  test('is presented from its arrival until its last second, then the internal one', async (t) => {
    const world = await open(t);
    manage(world, HOST, null);
    assert.equal(await shown(world), 'internal');
    manage(world, HOST, await issued('first', [HOST], { toDays: 1 }));
    assert.equal(await shown(world), 'first');
    manage(world, HOST, await issued('second', [HOST], { toDays: 2 }));
    assert.equal(await shown(world), 'second');
    world.clock.offsetMs = 2 * DAY_MS - 30_000;
    assert.equal(await shown(world), 'second');
    world.clock.offsetMs = 2 * DAY_MS + 1000;
    assert.equal(await shown(world), 'internal');
  });

  test('yields to an uploaded certificate that fits, and returns when that is gone', async (t) => {
    const world = await open(t);
    manage(world, HOST, await issued('managed'));
    const upload = await issued('uploaded', ['*.apps.test']);
    world.change({ op: 'put', record: certificateRecord('cert_1', upload, ['*.apps.test']) });
    assert.equal(await shown(world), 'uploaded');
    world.change({ op: 'delete', key: { kind: 'tls_certificate', id: 'cert_1' } });
    assert.equal(await shown(world), 'managed');
  });

  test('follows the policy of its domain: internal, letsencrypt, none', async (t) => {
    const world = await open(t);
    manage(world, HOST, await issued('managed'));
    const upload = await issued('uploaded');
    world.change({ op: 'put', record: certificateRecord('cert_1', upload, [HOST]) });
    reserve(world, { certificate_management_policy: { authority: 'internal', private_key_type: 'ecdsa' } });
    assert.equal(await shown(world), 'internal');
    reserve(world, { certificate_management_policy: { authority: 'letsencrypt', private_key_type: 'ecdsa' } });
    assert.equal(await shown(world), 'managed');
    manage(world, HOST, null);
    assert.equal(await shown(world), 'uploaded', 'better than a certificate that nobody trusts');
    reserve(world, { certificate_management_policy: null });
    assert.equal(await shown(world), 'uploaded');
  });

  test('of a wildcard serves the names below it, except those with their own', async (t) => {
    const world = await open(t);
    world.setEdge('*.apps.test');
    manage(world, '*.apps.test', await issued('wild', ['*.apps.test']));
    assert.equal(await shown(world, 'other.apps.test'), 'wild');
    manage(world, HOST, null);
    assert.equal(await shown(world), 'wild', 'while its own is pending');
    manage(world, HOST, await issued('own'));
    assert.equal(await shown(world), 'own');
    assert.equal(await shown(world, 'other.apps.test'), 'wild');
  });

  test('with another key or unreadable text is not presented, and breaks no handshake', async (t) => {
    const world = await open(t);
    const one = await issued('one');
    const other = await issued('other');
    manage(world, HOST, { ...one, keyPem: other.keyPem });
    assert.equal(await shown(world), 'internal');
    const record = managedRecord('mc_1', HOST, one);
    world.change({ op: 'put', record: { ...record, doc: { ...record.doc, certificate_pem: 'no certificate' } } });
    assert.equal(await shown(world), 'internal');
    assert.deepEqual(world.failures, []);
  });

  test('keeps its sessions while the record changes with the steps of a renewal', async (t) => {
    const world = await open(t);
    const pair = await issued('managed');
    manage(world, HOST, pair);
    const first = world.connect(HOST, { rejectUnauthorized: false, maxVersion: 'TLSv1.2' });
    const [session] = await once(first, 'session');
    manage(world, HOST, pair, { job: { started_at: 'now' }, worker: { boot_id: 'x' } });
    const second = world.connect(HOST, { rejectUnauthorized: false, maxVersion: 'TLSv1.2', session });
    await once(second, 'secureConnect');
    assert.equal(second.isSessionReused(), true);
  });

  test('changes without cutting a connection or failing a handshake, however often', async (t) => {
    const world = await open(t);
    const pairs = await Promise.all(Array.from({ length: 8 }, (_, at) => issued(`renewal ${at}`)));
    manage(world, HOST, pairs[0] as Issued);
    const earlier = await handshake(world);
    const seen = new Set<string>();
    let changes = 0;
    let isDone = false;
    const renewals = (async () => {
      while (!isDone) {
        changes += 1;
        manage(world, HOST, pairs[changes % pairs.length] as Issued);
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    for (let round = 0; round < 25; round += 1) {
      for (const name of await Promise.all(Array.from({ length: 8 }, () => shown(world)))) seen.add(name);
    }
    isDone = true;
    await renewals;
    assert.deepEqual(world.failures, []);
    assert.ok(changes > 25 && seen.size > 1, `${changes} changes, ${seen.size} certificates seen`);
    assert.ok([...seen].every((name) => name.startsWith('renewal')));
    assert.match((await exchange(earlier, HOST)).answer, /^HTTP\/1\.1 200/);
    await until(() => world.front.pendingCount === 0);
  });
});
