import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { EdgeWorld, type Site } from '../../support/edge-world.ts';
import { issue } from '../tls/test-authority.ts';
import { recordingUpstream } from '../traffic/recording-upstream.ts';
import { StoredRecords } from './stored-records.ts';

/** A module that cannot be applied rejects traffic: it is never skipped. */
const upstream = await recordingUpstream({ after });
const world = await EdgeWorld.open({ after });
const backend = await world.staticBackend(upstream.address);
const stored = new StoredRecords(world);
const authority = await issue({ commonName: 'CA of clients', isCa: true });
const person = await issue({ commonName: 'a person', issuer: authority, usages: ['client'] });
const certificate = { cert: person.certificatePem, key: person.keyPem };

async function assertRefused(site: Site, module: string): Promise<void> {
  upstream.forget();
  for (const options of [{}, certificate]) {
    const answer = await world.ask(site.host, '/', { ...options, headers: { accept: 'text/html' } });
    assert.deepEqual([answer.status, answer.headers['postern-error-code']], [503, 'ERR_POSTERN_MODULE_UNAVAILABLE']);
    assert.match(answer.text, new RegExp(`its ${module} module is enabled but cannot be applied`));
  }
  assert.equal(upstream.bytes, '');
  const labels = `edge="${site.edgeId}",route="${site.routeId}",module="${module}",reason="unprepared"`;
  assert.ok((await world.metrics()).includes(`postern_edge_refused_total{${labels}} 2`));
}

/** Edge modules reject in the handshake: no byte of HTTP is sent, with or without a certificate. */
async function assertNoHandshake(site: Site, module: string): Promise<void> {
  upstream.forget();
  const before = await handshakeFailures();
  for (const options of [{}, certificate])
    await assert.rejects(world.ask(site.host, '/', options), /alert|hang up|ECONNRESET/, module);
  assert.equal(upstream.bytes, '');
  assert.equal(await handshakeFailures(), before + 2);
}

async function handshakeFailures(): Promise<number> {
  const lines = (await world.metrics()).split('\n');
  const counted = lines.filter((line) => line.startsWith('postern_edge_handshake_failures_total{'));
  return counted.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}

suite('ip_restriction', () => {
  const documents: readonly (readonly [string, () => Promise<object>])[] = [
    ['a policy that is gone', async () => ({ enabled: true, ip_policy_ids: ['ipp_gone'] })],
    [
      'a policy that is gone beside one that allows: the lost one may have been the one that denies',
      async () => {
        const { policyId } = await world.ipPolicy('allow', '0.0.0.0/0');
        return { enabled: true, ip_policy_ids: [policyId, 'ipp_gone'] };
      },
    ],
    [
      'a rule whose range cannot be read',
      async () => {
        const { policyId } = await world.ipPolicy('allow', '0.0.0.0/0');
        await stored.put('ip_policy_rule', 'ipr_broken', { action: 'deny', cidr: 'everything' }, policyId);
        return { enabled: true, ip_policy_ids: [policyId] };
      },
    ],
    [
      'a rule whose action is not known',
      async () => {
        const { policyId } = await world.ipPolicy('allow', '0.0.0.0/0');
        await stored.put('ip_policy_rule', 'ipr_strange', { action: 'challenge', cidr: '127.0.0.0/8' }, policyId);
        return { enabled: true, ip_policy_ids: [policyId] };
      },
    ],
    ['no list', async () => ({ enabled: true, ip_policy_ids: null })],
  ];
  for (const [what, document] of documents) {
    test(`with ${what}`, async () => {
      const site = await world.site(backend);
      await stored.putRouteModule(site, 'ip_restriction', await document());
      await assertRefused(site, 'ip_restriction');
      const { policyId } = await world.ipPolicy('allow', '127.0.0.0/8');
      await world.api('PUT', `${site.routePath}/ip_restriction`, { ip_policy_ids: [policyId] });
      assert.equal(await world.status(site.host), 200);
    });
  }
});

suite('mutual_tls', () => {
  test('with a missing authority', async () => {
    const site = await world.site(backend);
    await stored.putEdgeModule(site, 'mutual_tls', { enabled: true, certificate_authority_ids: ['ca_gone'] });
    await assertNoHandshake(site, 'mutual_tls');
    await world.api('DELETE', `${site.edgePath}/mutual_tls`);
    assert.equal(await world.status(site.host), 200);
  });

  test('with a missing authority beside a good one', async () => {
    const site = await world.site(backend);
    const { id } = await world.api('POST', '/certificate_authorities', { ca_pem: authority.certificatePem });
    await stored.putEdgeModule(site, 'mutual_tls', { enabled: true, certificate_authority_ids: [id, 'ca_gone'] });
    await assertNoHandshake(site, 'mutual_tls');
  });

  test('without a list', async () => {
    const site = await world.site(backend);
    await stored.putEdgeModule(site, 'mutual_tls', { enabled: true });
    await assertNoHandshake(site, 'mutual_tls');
  });

  for (const [what, pem] of [
    ['that is no certificate', 'nonsense'],
    ['that is a broken certificate', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'],
  ] as const) {
    test(`with an authority ${what}`, async () => {
      const site = await world.site(backend);
      const id = `ca_${Buffer.from(what).toString('hex')}`;
      await stored.put('certificate_authority', id, { ca_pem: pem });
      await stored.putEdgeModule(site, 'mutual_tls', { enabled: true, certificate_authority_ids: [id] });
      await assertNoHandshake(site, 'mutual_tls');
    });
  }

  test('admits nobody with an empty list', async () => {
    const site = await world.site(backend);
    await stored.putEdgeModule(site, 'mutual_tls', { enabled: true, certificate_authority_ids: [] });
    await assertNoHandshake(site, 'mutual_tls');
  });
});

suite('tls_termination', () => {
  test('with an unknown version', async () => {
    const site = await world.site(backend);
    await stored.putEdgeModule(site, 'tls_termination', { enabled: true, min_version: '1.9' });
    await assertNoHandshake(site, 'tls_termination');
  });
});

suite('backend', () => {
  for (const [what, document] of [
    ['that is gone', { enabled: true, backend_id: 'bkdst_gone' }],
    ['of a kind that is not known', { enabled: true, backend_id: 'strange_1' }],
    ['without a name', { enabled: true }],
  ] as const) {
    test(`${what}: there is nothing to send to`, async () => {
      const site = await world.site();
      await stored.putRouteModule(site, 'backend', document);
      const answer = await world.ask(site.host);
      assert.deepEqual([answer.status, answer.headers['postern-error-code']], [503, 'ERR_POSTERN_NO_BACKEND']);
      const labels = `edge="${site.edgeId}",route="${site.routeId}",module="edge",reason="no_backend"`;
      assert.ok((await world.metrics()).includes(`postern_edge_refused_total{${labels}} 1`));
    });
  }

  test('whose record cannot be read: 500, and a log line', async () => {
    const { id } = await world.api('POST', '/backends/static', { address: '127.0.0.1:1' });
    await stored.put('static_backend', id, { address: 7 });
    const site = await world.site();
    await stored.putRouteModule(site, 'backend', { enabled: true, backend_id: id });
    const answer = await world.ask(site.host);
    assert.deepEqual([answer.status, answer.headers['postern-error-code']], [500, 'ERR_POSTERN_EDGE_INTERNAL']);
    assert.ok(world.world.logLines.some((line) => line.includes('a bug was contained')));
  });
});
