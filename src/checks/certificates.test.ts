import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { certificates } from './certificates.ts';

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
  const found = certificates.run({ edges: EDGES, tls_certificates: certificatesOf as never, nowMs: 0 });
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
