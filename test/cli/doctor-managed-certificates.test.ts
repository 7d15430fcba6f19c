import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { checkManagedCertificates } from '../../src/cli/doctor/checks/managed-certificates.ts';
import type { LiveInstallation } from '../../src/cli/doctor/installation.ts';
import type { ManagedCertificate } from '../../src/client/generated/managed-certificates.ts';
import type { TlsCertificate } from '../../src/client/generated/tls-certificates.ts';
import { loadConfig } from '../../src/config/load.ts';

const DAY_MS = 86_400_000;
const NOW_MS = Date.parse('2026-11-15T00:00:00Z');
const at = (days: number): string => new Date(NOW_MS + days * DAY_MS).toISOString();

function live(env: Readonly<Record<string, string>>, hosts: readonly string[], isLocal = true): LiveInstallation {
  const { config } = loadConfig({ flags: new Map(), env });
  const edges = [{ id: 'edghts_1', hostports: hosts.map((host) => `${host}:443`), routes: [] }];
  return { config, isLocal, nowMs: NOW_MS, edges, transport: null } as unknown as LiveInstallation;
}

function managed(fields: Partial<ManagedCertificate>): ManagedCertificate {
  return {
    id: 'mc_1',
    uri: '',
    created_at: at(-9),
    hostname: 'app.example.com',
    status: 'issued',
    serial_number: '1',
    not_after: at(60),
    renews_at: at(30),
    provisioning_job: null,
    certificate: null,
    ...fields,
  } as ManagedCertificate;
}

const FAILED = { error_code: 'ERR_X', msg: 'http-01 was answered with 404', started_at: at(-1), retries_at: at(1) };
const ON = { POSTERN_ACME: 'on', POSTERN_EDGE_LISTEN: '127.0.0.1:443', POSTERN_EDGE_HTTP_LISTEN: '127.0.0.1:80' };

async function findings(
  certificate: Partial<ManagedCertificate>,
  env: Readonly<Record<string, string>> = ON,
): Promise<readonly string[]> {
  const found = await checkManagedCertificates(live(env, [], false), [managed(certificate)], []);
  return found.map(({ level, message, advice }) => `${level}: ${message} | ${advice ?? ''}`);
}

suite('the doctor and certificates from ACME servers', () => {
  test('a valid certificate is fine', async () => {
    assert.deepEqual(await findings({}), ['ok: app.example.com expires on 2027-01-14 (60 days) | ']);
  });

  test('a failed renewal is a warning with its cause and the next attempt', async () => {
    const [found] = await findings({ provisioning_job: FAILED });
    assert.match(
      found ?? '',
      /^warning: app\.example\.com expires on .* its renewal failed: http-01 was answered with 404 \(ERR_X\) \| .*next attempt is at 2026-11-16/,
    );
  });

  test('a renewal that did not happen is a warning', async () => {
    assert.match((await findings({ renews_at: at(-2) }))[0] ?? '', /^warning: .*was to be renewed at 2026-11-13/);
    assert.match((await findings({ renews_at: at(-0.5) }))[0] ?? '', /^ok: /);
  });

  test('a name without a certificate is a problem after a failure, and a hint before', async () => {
    const none = { serial_number: null, not_after: null, renews_at: null };
    const [failed] = await findings({ ...none, status: 'failed', provisioning_job: FAILED });
    assert.match(failed ?? '', /^problem: app\.example\.com has no certificate that clients trust: http-01/);
    assert.match((await findings({ ...none, status: 'pending' }))[0] ?? '', /^hint: app\.example\.com waits/);
  });

  test('public names that only the internal CA serves are named while ACME is off', async () => {
    const hosts = ['shop.example.com', 'own.example.com', 'x.localhost', 'nas.local'];
    const own = { not_after: at(9), subject_alternative_names: { dns_names: ['own.example.com'], ips: [] } };
    const uploaded = [own as unknown as TlsCertificate];
    const off = await checkManagedCertificates(live({}, hosts), [], uploaded);
    assert.equal(off.length, 1);
    assert.match(off[0]?.message ?? '', /certificates of shop\.example\.com: the internal CA issues them/);
    assert.deepEqual(await checkManagedCertificates(live(ON, hosts), [], uploaded), []);
  });

  test('listeners on other ports than ACME servers use are a hint', async () => {
    const env = { ...ON, POSTERN_EDGE_LISTEN: '127.0.0.1:7443' };
    const found = await checkManagedCertificates(live(env, []), [], []);
    assert.deepEqual(
      found.map(({ level, message }) => `${level}: ${message}`),
      ['hint: edge_listen does not use port 443, to which ACME servers connect for tls-alpn-01'],
    );
  });
});
