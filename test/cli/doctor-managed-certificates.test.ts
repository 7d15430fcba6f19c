import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { loadConfig } from '../../src/app/settings/load.ts';
import type { CheckedCertificate, CheckedManagedCertificate, Facts } from '../../src/control/findings/facts.ts';
import { checks } from '../../src/control/findings/registry.ts';
import type { Finding } from '../../src/kit/findings.ts';

const DAY_MS = 86_400_000;
const NOW_MS = Date.parse('2026-11-15T00:00:00Z');
const at = (days: number): string => new Date(NOW_MS + days * DAY_MS).toISOString();

function check(
  env: Readonly<Record<string, string>>,
  hosts: readonly string[],
  managed_certificates: readonly CheckedManagedCertificate[],
  tls_certificates: readonly CheckedCertificate[],
): readonly Finding[] {
  const { config } = loadConfig({ flags: new Map(), env });
  const edges = [{ id: 'edghts_1', hostports: hosts.map((host) => `${host}:443`), mutual_tls: null, routes: [] }];
  const facts = { config, nowMs: NOW_MS, edges, managed_certificates, tls_certificates } as unknown as Facts;
  const ofCertificates = checks.filter(({ name }) => name === 'managed_certificates');
  return ofCertificates.flatMap((each) => [...each.run(facts)].filter((finding) => finding !== null));
}

function managed(fields: Partial<CheckedManagedCertificate>): CheckedManagedCertificate {
  return {
    id: 'mc_1',
    hostname: 'app.example.com',
    status: 'issued',
    not_after: at(60),
    renews_at: at(30),
    provisioning_job: null,
    ...fields,
  };
}

const FAILED = { error_code: 'ERR_X', msg: 'http-01 was answered with 404', retries_at: at(1) };
const ON = { POSTERN_ACME: 'on', POSTERN_EDGE_LISTEN: '127.0.0.1:443', POSTERN_EDGE_HTTP_LISTEN: '127.0.0.1:80' };

function findings(
  certificate: Partial<CheckedManagedCertificate>,
  env: Readonly<Record<string, string>> = ON,
): readonly string[] {
  const found = check(env, [], [managed(certificate)], []);
  return found.map(({ level, message, advice }) => `${level}: ${message} | ${advice ?? ''}`);
}

suite('the doctor and certificates from ACME servers', () => {
  test('a valid certificate is fine', () => {
    assert.deepEqual(findings({}), ['ok: app.example.com expires on 2027-01-14 (60 days) | ']);
  });

  test('a failed renewal is a warning with its cause and the next attempt', () => {
    const [found] = findings({ provisioning_job: FAILED });
    assert.match(
      found ?? '',
      /^warning: app\.example\.com expires on .* its renewal failed: http-01 was answered with 404 \(ERR_X\) \| .*next attempt is at 2026-11-16/,
    );
  });

  test('a renewal that did not happen is a warning', () => {
    assert.match(findings({ renews_at: at(-2) })[0] ?? '', /^warning: .*was to be renewed at 2026-11-13/);
    assert.match(findings({ renews_at: at(-0.5) })[0] ?? '', /^ok: /);
  });

  test('a name without a certificate is a problem after a failure, and a hint before', () => {
    const none = { not_after: null, renews_at: null };
    const [failed] = findings({ ...none, status: 'failed', provisioning_job: FAILED });
    assert.match(failed ?? '', /^problem: app\.example\.com has no certificate that clients trust: http-01/);
    assert.match(findings({ ...none, status: 'pending' })[0] ?? '', /^hint: app\.example\.com waits/);
  });

  test('public names that only the internal CA serves are named while ACME is off', () => {
    const hosts = ['shop.example.com', 'own.example.com', 'x.localhost', 'nas.local'];
    const own = { not_after: at(9), subject_alternative_names: { dns_names: ['own.example.com'] } };
    const uploaded = [{ ...own, id: 'cert_1', subject_common_name: '' }];
    const off = check({}, hosts, [], uploaded);
    assert.equal(off.length, 1);
    assert.match(off[0]?.message ?? '', /certificates of shop\.example\.com: the internal CA issues them/);
    assert.deepEqual(check(ON, hosts, [], uploaded), []);
  });

  test('listeners on other ports than ACME servers use are a hint', () => {
    const env = { ...ON, POSTERN_EDGE_LISTEN: '127.0.0.1:7443' };
    const found = check(env, [], [], []);
    assert.deepEqual(
      found.map(({ level, message }) => `${level}: ${message}`),
      ['hint: edge_listen does not use port 443, to which ACME servers connect for tls-alpn-01'],
    );
  });
});
