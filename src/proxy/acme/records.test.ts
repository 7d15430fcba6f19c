import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type CertificateJob, challengeId, managedStatus } from './records.ts';

const NOW = Date.parse('2026-11-15T12:00:00Z');
const LATER = '2026-12-15T12:00:00Z';
const EARLIER = '2026-11-14T12:00:00Z';

const job = (error_code: string | null): CertificateJob => ({
  started_at: EARLIER,
  retries_at: null,
  attempts: error_code === null ? 0 : 1,
  error_code,
  msg: error_code,
  directory_index: 0,
  holds: {},
});

suite('managedStatus', () => {
  test('is pending before the first attempt has ended', () => {
    assert.equal(managedStatus({ not_after: null, job: null }, NOW), 'pending');
    assert.equal(managedStatus({ not_after: null, job: job(null) }, NOW), 'pending');
  });

  test('is failed when an attempt failed and no certificate is valid', () => {
    assert.equal(managedStatus({ not_after: null, job: job('ERR_POSTERN_ACME_DNS') }, NOW), 'failed');
    assert.equal(managedStatus({ not_after: EARLIER, job: job('ERR_POSTERN_ACME_DNS') }, NOW), 'failed');
  });

  test('stays issued while the old certificate is valid and its renewal fails', () => {
    assert.equal(managedStatus({ not_after: LATER, job: job('ERR_POSTERN_ACME_DNS') }, NOW), 'issued');
  });
});

test('a challenge has one id per name and type', () => {
  assert.equal(challengeId('a.example.com', 'http-01'), challengeId('a.example.com', 'http-01'));
  assert.notEqual(challengeId('a.example.com', 'http-01'), challengeId('a.example.com', 'tls-alpn-01'));
});
