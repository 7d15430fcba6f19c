import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, suite, test } from 'node:test';
import { EdgeWorld } from '../../support/edge-world.ts';
import { freshDatabase, startPostgres } from '../../support/postgres.ts';
import { crl } from '../../support/test-crl.ts';
import { issue } from '../tls/test-authority.ts';
import { eventually, openCrlServer } from './crl-server.ts';
import { LOOPBACK, presents, RevocationWorld } from './revocation-world.ts';

/** Two processes on one PostgreSQL: one fetches, both apply. */
const postgres = await startPostgres();
const database = await freshDatabase(postgres);
const env = {
  POSTERN_SECRET_KEY: randomBytes(32).toString('base64'),
  POSTERN_CRL_ALLOW_CIDRS: LOOPBACK,
};
const clock = { offsetMs: 0, nowMs: () => Date.now() + clock.offsetMs };
const options = { databaseUrl: database.url, clock };
const server = await openCrlServer({ after });
const one = await RevocationWorld.open({ after }, env, options);
const two = one.servedBy(await EdgeWorld.open({ after }, env, options));
after(() => postgres.stop());
const root = await issue({ commonName: 'root', isCa: true });
const alice = await issue({ commonName: 'alice', issuer: root, usages: ['client'] });
const bob = await issue({ commonName: 'bob', issuer: root, usages: ['client'] });
const REVOKED = 'client_certificate_revoked';

suite('two processes', () => {
  test('one fetches a list, and both apply it, also to open connections', async () => {
    server.list = (await crl({ issuer: root, number: 1 })).der;
    const id = await one.authority(root, { crl_mode: 'hard', crl_url: server.url });
    await one.require(id);
    for (const world of [one, two]) {
      await eventually(
        () => world.outcome(presents(alice)),
        (outcome) => outcome === 'admitted',
      );
    }
    assert.equal(server.requests.length, 1);
    const { host } = one.site;
    const open = await two.edge.connect(host, presents(alice));
    const answered = new Promise((resolve) => open.once('data', resolve));
    open.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    await answered;
    server.list = (await crl({ issuer: root, number: 2, revoked: [alice] })).der;
    clock.offsetMs += 3_600_000;
    for (const world of [one, two]) {
      await eventually(
        () => world.outcome(presents(alice)),
        (outcome) => outcome === REVOKED,
      );
      assert.equal(await world.outcome(presents(bob)), 'admitted');
    }
    assert.equal(server.requests.length, 2);
    let next = '';
    open.on('data', (chunk: Buffer) => {
      next += chunk.toString();
    });
    const closed = new Promise((resolve) => open.once('close', resolve));
    open.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    await closed;
    assert.match(next, /^HTTP\/1\.1 421/);
  });

  test('an upload and a mode at one apply at the other', async () => {
    const id = await one.authority(root, { crl_mode: 'soft', crl_pem: (await crl({ issuer: root })).pem });
    await one.require(id);
    await eventually(
      () => two.outcome(presents(alice)),
      (outcome) => outcome === 'admitted',
    );
    await one.patch(id, { crl_pem: (await crl({ issuer: root, revoked: [alice] })).pem });
    await eventually(
      () => two.outcome(presents(alice)),
      (outcome) => outcome === REVOKED,
    );
    await two.patch(id, { crl_mode: 'off' });
    await eventually(
      () => one.outcome(presents(alice)),
      (outcome) => outcome === 'admitted',
    );
  });
});
