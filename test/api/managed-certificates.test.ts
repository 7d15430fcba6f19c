import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import type { ManagedCertificateDoc } from '../../src/proxy/acme/records.ts';
import { makeCertificate } from '../conformance/certificates.ts';
import { newId } from '../conformance/interface-parents.ts';
import { FAILED_JOB, managedPut } from '../support/managed-put.ts';
import { TestWorld } from '../support/test-world.ts';

const DAY_MS = 86_400_000;
const inDays = (days: number): string => new Date(Date.now() + days * DAY_MS).toISOString();
const ISSUED = { certificate_pem: 'pem', serial_number: '04d2', not_before: inDays(-1), not_after: inDays(60) };

const world = await TestWorld.open({ after }, { env: { POSTERN_API_RATE_LIMIT: '0' } });

/** Stores the name again under the same id if one is given. */
async function manage(hostname: string, doc: Partial<ManagedCertificateDoc> = {}, id = newId('mc')): Promise<string> {
  assert.ok((await world.store.commit({ puts: [managedPut(id, hostname, doc)] })).ok);
  return id;
}

async function made(path: string, body: object) {
  const answer = await world.api('POST', path, body);
  assert.equal(answer.status, 201, answer.text);
  return answer.body;
}

suite('GET /managed_certificates', () => {
  test('shows the state of a name, without its certificate and keys', async () => {
    const id = await manage('one.example.com', { ...ISSUED, renews_at: inDays(30) });
    const { status, body } = await world.api('GET', `/managed_certificates/${id}`);
    assert.equal(status, 200);
    assert.deepEqual(body, {
      id,
      uri: `${world.baseUrl}/managed_certificates/${id}`,
      created_at: '2026-11-01T09:30:00.000Z',
      hostname: 'one.example.com',
      status: 'issued',
      serial_number: '04d2',
      not_after: ISSUED.not_after,
      renews_at: body.renews_at,
      provisioning_job: null,
      certificate: null,
    });
  });

  test('has a status for each state of the work', async () => {
    const cases: readonly [Partial<ManagedCertificateDoc>, string][] = [
      [{}, 'pending'],
      [{ job: { ...FAILED_JOB, error_code: null, msg: null, retries_at: null } }, 'pending'],
      [{ job: FAILED_JOB }, 'failed'],
      [{ ...ISSUED, job: FAILED_JOB }, 'issued'],
      [{ ...ISSUED, not_after: inDays(-1), job: FAILED_JOB }, 'failed'],
    ];
    const id = await manage('states.example.com');
    for (const [doc, expected] of cases) {
      await manage('states.example.com', doc, id);
      const { body } = await world.api('GET', `/managed_certificates/${id}`);
      assert.equal(body.status, expected);
      const job = doc.job ?? null;
      assert.deepEqual(
        body.provisioning_job,
        job && {
          error_code: job.error_code,
          msg: job.msg ?? '',
          started_at: job.started_at,
          retries_at: job.retries_at,
        },
      );
    }
  });

  test('pages newest first, and skips names that nothing asks for', async () => {
    const ids: string[] = [];
    for (let at = 0; at < 7; at += 1) {
      const unwanted = at % 2 === 1 ? { unwanted_since: inDays(0) } : {};
      ids.push(await manage(`page-${at}.example.com`, unwanted));
    }
    const seen: string[] = [];
    let next: string | null = '/managed_certificates?limit=2';
    while (next !== null) {
      const { body }: { body: { managed_certificates: { hostname: string }[]; next_page_uri: string | null } } =
        await world.api('GET', next);
      assert.ok(body.managed_certificates.length <= 2);
      seen.push(...body.managed_certificates.map(({ hostname }) => hostname));
      next = body.next_page_uri;
    }
    assert.deepEqual(
      seen.filter((name) => name.startsWith('page-')),
      [6, 4, 2, 0].map((at) => `page-${at}.example.com`),
    );
    assert.equal((await world.api('GET', `/managed_certificates/${ids[1]}`)).status, 404);
  });

  test('refers to the uploaded certificate that is valid for the name', async () => {
    const id = await manage('both.example.com', ISSUED);
    const pair = await makeCertificate({ commonName: 'both', dnsNames: ['*.example.com'] });
    const uploaded = await made('/tls_certificates', {
      certificate_pem: pair.certificatePem,
      private_key_pem: pair.keyPem,
    });
    const read = async () => (await world.api('GET', `/managed_certificates/${id}`)).body.certificate;
    assert.deepEqual(await read(), { id: uploaded.id, uri: uploaded.uri });
    await world.api('DELETE', uploaded.uri);
    assert.equal(await read(), null);
  });

  test('requires its scope, and cannot be written', async () => {
    const { token } = await made('/api_keys', { scopes: ['edges:read'] });
    assert.equal((await world.api('GET', '/managed_certificates', undefined, { key: token })).status, 403);
    assert.equal((await world.api('POST', '/managed_certificates', {})).status, 405);
    assert.equal((await world.api('GET', '/managed_certificates/mc_1')).status, 404);
    assert.equal((await world.api('GET', '/managed_certificates?limit=0')).status, 400);
  });
});

suite('the certificate policy and status of a reserved domain', () => {
  test('accepts letsencrypt and internal, ecdsa and rsa, and nothing else', async () => {
    const domain = await made('/reserved_domains', { domain: 'policy.example.com' });
    const patch = (policy: object) => world.api('PATCH', domain.uri, { certificate_management_policy: policy });
    for (const authority of ['letsencrypt', 'internal']) {
      for (const private_key_type of ['ecdsa', 'rsa']) {
        const { body } = await patch({ authority, private_key_type });
        assert.deepEqual(body.certificate_management_policy, { authority, private_key_type });
      }
    }
    assert.equal(
      (await patch({ authority: 'letsencrypt' })).body.certificate_management_policy.private_key_type,
      'ecdsa',
    );
    assert.equal((await patch({ authority: 'zerossl' })).status, 400);
    assert.equal((await patch({ authority: 'internal', private_key_type: 'dsa' })).status, 400);
    assert.equal((await world.api('DELETE', `${domain.uri}/certificate_management_policy`)).status, 204);
    assert.equal((await world.api('GET', domain.uri)).body.certificate_management_policy, null);
  });

  test('is filled for a managed name with and without a policy, and null at once with the internal CA', async () => {
    const domain = await made('/reserved_domains', { domain: 'status.example.com' });
    assert.equal(domain.certificate_management_status, null);
    const renews_at = inDays(30);
    await manage('status.example.com', { ...ISSUED, renews_at, job: FAILED_JOB });
    const { error_code, msg, started_at, retries_at } = FAILED_JOB;
    const expected = { renews_at, provisioning_job: { error_code, msg, started_at, retries_at } };
    const read = async () => (await world.api('GET', domain.uri)).body.certificate_management_status;
    assert.deepEqual(await read(), expected);
    const listed = (await world.api('GET', '/reserved_domains?limit=100')).body.reserved_domains;
    const found = listed.find(({ id }: { id: string }) => id === domain.id);
    assert.deepEqual(found.certificate_management_status, expected);
    const policy = (authority: string) =>
      world.api('PATCH', domain.uri, { certificate_management_policy: { authority } });
    assert.equal((await policy('internal')).body.certificate_management_status, null);
    assert.deepEqual((await policy('letsencrypt')).body.certificate_management_status, expected);
    await world.api('DELETE', `${domain.uri}/certificate_management_policy`);
    assert.deepEqual(await read(), expected);
  });

  test('does not count for the ETag', async () => {
    const domain = await made('/reserved_domains', { domain: 'etag.example.com' });
    const before = (await world.api('GET', domain.uri)).headers.get('etag');
    await manage('etag.example.com', { job: FAILED_JOB });
    assert.equal((await world.api('GET', domain.uri)).headers.get('etag'), before);
  });
});

suite('Postern-Warning', () => {
  const warning = async (uri: string) => (await world.api('GET', uri)).headers.get('postern-warning');

  test('names what is wrong with the certificate of an edge and of a domain, and goes away', async () => {
    const host = 'warned.example.com';
    const edge = await made('/edges/https', { hostports: [`${host}:443`, 'fine.example.com:443'] });
    const domain = await made('/reserved_domains', { domain: host });
    assert.equal(await warning(edge.uri), null);
    const id = await manage(host, { job: FAILED_JOB });
    const expected =
      'certificate: the name resolves to 192.0.2.7, which is not this server; clients get a certificate of the internal CA; next attempt at 2026-11-01T09:35:00.000Z (warned.example.com)';
    assert.equal(await warning(edge.uri), expected);
    assert.equal(await warning(domain.uri), expected);
    const patched = await world.api('PATCH', edge.uri, { description: 'x' });
    assert.equal(patched.headers.get('postern-warning'), expected);
    assert.equal(patched.headers.get('postern-problem'), null);
    await manage(host, { ...ISSUED, job: FAILED_JOB }, id);
    assert.match((await warning(edge.uri)) ?? '', /^certificate: the renewal failed: .*; it expires at /);
    await manage(host, ISSUED, id);
    assert.equal(await warning(edge.uri), null);
    await manage(host, { ...ISSUED, not_after: inDays(-1) }, id);
    assert.match((await warning(domain.uri)) ?? '', /^certificate: it expired at /);
  });

  test('is one line of ASCII, whatever an ACME server said', async () => {
    const host = 'hostile.example.com';
    const domain = await made('/reserved_domains', { domain: host });
    await manage(host, { job: { ...FAILED_JOB, msg: `a\r\nSet-Cookie: x=1\u2028${'ü'.repeat(5000)}` } });
    assert.match((await warning(domain.uri)) ?? '', /^[\x20-\x7e]{20,500}$/);
  });

  test('says that a policy asks for letsencrypt while ACME is off', async () => {
    const { uri } = await made('/reserved_domains', {
      domain: 'off.example.com',
      certificate_management_policy: { authority: 'letsencrypt' },
    });
    assert.match((await warning(uri)) ?? '', /POSTERN_ACME/);
  });

  test('is silent while an uploaded certificate serves the name', async () => {
    const host = 'quiet.apps.example';
    const { uri } = await made('/reserved_domains', { domain: host });
    await manage(host, { job: FAILED_JOB });
    const pair = await makeCertificate({ commonName: 'quiet', dnsNames: [host] });
    await made('/tls_certificates', { certificate_pem: pair.certificatePem, private_key_pem: pair.keyPem });
    assert.equal(await warning(uri), null);
  });
});
