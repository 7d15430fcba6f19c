import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { CheckedManagedCertificate } from '../facts.ts';
import { certificatesCheck } from './certificates.ts';
import { managedCertificatesCheck } from './managed-certificates.ts';

const DAY_MS = 86_400_000;
const EDGES = [{ id: 'e1', hostports: ['shop.example.com:443'], clientAuthorities: [], routes: [] }];

/** What is said about the first of these certificates, each of which has names and days left. */
function saidOf(...all: readonly (readonly [string, number])[]): string {
  const certificatesOf = all.map(([name, days], at) => ({
    id: `c${at}`,
    subject_common_name: name,
    subject_alternative_names: { dns_names: [name] },
    not_after: new Date(days * DAY_MS).toISOString(),
  }));
  const found = certificatesCheck.run({ edges: EDGES, tls_certificates: certificatesOf as never, nowMs: 0 });
  const finding = [...found].find((each) => each?.message.startsWith('c0 '));
  return `${finding?.level}: ${finding?.message}`;
}

suite('the check of uploaded certificates', () => {
  test('asks for the successor of one that expires soon or has expired', () => {
    assert.match(saidOf(['shop.example.com', 31]), /^ok: /);
    assert.match(saidOf(['shop.example.com', 12]), /^warning: /);
    assert.match(saidOf(['shop.example.com', -1]), /^problem: /);
  });

  test('asks for none that was uploaded already', () => {
    for (const successor of ['shop.example.com', '*.example.com']) {
      for (const days of [12, -1]) {
        assert.match(saidOf(['shop.example.com', days], [successor, 90]), /^hint: .*have replaced it/);
      }
    }
  });

  test('does not take one that expires soon too for a successor, nor one of another host', () => {
    assert.match(saidOf(['shop.example.com', 12], ['shop.example.com', 13]), /^warning: /);
    assert.match(saidOf(['shop.example.com', 12], ['other.example.com', 90]), /^warning: /);
    assert.match(saidOf(['shop.example.com', -1], ['shop.example.com', 13]), /^hint: /);
  });
});

const NOW_MS = Date.parse('2026-11-10T12:00:00Z');

function saidOfManaged(certificate: Partial<CheckedManagedCertificate>): string {
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
  const [finding] = [...managedCertificatesCheck.run(facts as never)];
  return `${finding?.level}: ${finding?.message}`;
}

/** An attempt without a result: the ACME server has not answered yet. */
const UNANSWERED = { error_code: null, msg: null, retries_at: null };

suite('the check of managed certificates', () => {
  test('reports an expired certificate as a problem at once, also while its ACME server does not answer', () => {
    for (const job of [UNANSWERED, null]) {
      const said = saidOfManaged({ not_after: '2026-11-10T11:59:00Z', provisioning_job: job });
      assert.match(said, /^problem: app.example.com has no certificate that clients trust.* expired on 2026-11-10/);
    }
  });

  test('waits for the first one with a hint, until an attempt has failed', () => {
    assert.match(
      saidOfManaged({ provisioning_job: UNANSWERED }),
      /^hint: app.example.com waits for its first certificate/,
    );
    const failed = { error_code: 'ERR_X', msg: 'the name does not resolve', retries_at: '2026-11-10T13:00:00Z' };
    assert.match(
      saidOfManaged({ status: 'failed', provisioning_job: failed }),
      /^problem: .*does not resolve \(ERR_X\)/,
    );
  });
});
