import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { CheckedManagedCertificate } from './facts.ts';
import { managedCertificates } from './managed-certificates.ts';

const NOW_MS = Date.parse('2026-11-10T12:00:00Z');

function saidOf(certificate: Partial<CheckedManagedCertificate>): string {
  const facts = {
    nowMs: NOW_MS,
    managed_certificates: [
      {
        id: 'mc_1',
        hostname: 'app.example.com',
        status: 'pending',
        not_after: null,
        renews_at: null,
        provisioning_job: null,
        ...certificate,
      },
    ],
  };
  const [finding] = [...managedCertificates.run(facts as never)];
  return `${finding?.level}: ${finding?.message}`;
}

/** An attempt without a result: the ACME server has not answered yet. */
const UNANSWERED = { error_code: null, msg: null, retries_at: null };

suite('the check of managed certificates', () => {
  test('reports an expired certificate as a problem at once, also while its ACME server does not answer', () => {
    for (const job of [UNANSWERED, null]) {
      const said = saidOf({ not_after: '2026-11-10T11:59:00Z', provisioning_job: job });
      assert.match(said, /^problem: app.example.com has no certificate that clients trust.* expired on 2026-11-10/);
    }
  });

  test('waits for the first one with a hint, until an attempt has failed', () => {
    assert.match(saidOf({ provisioning_job: UNANSWERED }), /^hint: app.example.com waits for its first certificate/);
    const failed = { error_code: 'ERR_X', msg: 'the name does not resolve', retries_at: '2026-11-10T13:00:00Z' };
    assert.match(saidOf({ status: 'failed', provisioning_job: failed }), /^problem: .*does not resolve \(ERR_X\)/);
  });
});
