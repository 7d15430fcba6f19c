import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Attempt, LoginAttempts, type TooManyAttempts } from './login-attempts.ts';

const ISSUER = 'https://idp.example';

function attemptsWith(perAddress: number, perIssuer: number) {
  const clock = { ms: 1_000_000, nowMs: () => clock.ms };
  const attempts = new LoginAttempts({ perAddress, perIssuer }, clock);
  const junk = (address: string): Attempt | TooManyAttempts => {
    const attempt = attempts.begin(ISSUER, address);
    if (!('limit' in attempt)) attempt.failed();
    return attempt;
  };
  return { clock, attempts, junk };
}

test('an address is limited by its failures, and its /64 with it, until they are a minute old', () => {
  const { clock, junk } = attemptsWith(20, 0);
  for (let at = 0; at < 20; at += 1) assert.ok(!('limit' in junk(`2001:db8::${at}`)));
  assert.deepEqual(junk('2001:db8::99'), { limit: 'address', retryAfterSeconds: 3 });
  assert.ok(!('limit' in junk('2001:db8:0:1::1')), 'another /64');
  clock.ms += 3_000;
  assert.ok(!('limit' in junk('2001:db8::99')));
  assert.ok('limit' in junk('2001:db8::99'));
  clock.ms -= 3_600_000;
  assert.ok('limit' in junk('2001:db8::99'), 'a clock that was set back gives nothing');
});

test('a few addresses that fail leave half of the issuer to others', () => {
  const { attempts, junk } = attemptsWith(100, 20);
  const refusals = Array.from({ length: 50 }, (_, at) => junk(`198.51.100.${at % 3}`)).filter((one) => 'limit' in one);
  // Three before they were suspect, then half of twenty.
  assert.equal(refusals.length, 50 - 13);
  assert.deepEqual(refusals[0], { limit: 'issuer', retryAfterSeconds: 6 });
  const others = Array.from({ length: 7 }, (_, at) => attempts.begin(ISSUER, `203.0.113.${at}`));
  assert.ok(others.every((one) => !('limit' in one)));
  assert.ok('limit' in attempts.begin(ISSUER, '203.0.113.9'), 'all twenty are under way');
  assert.ok(!('limit' in attempts.begin('https://other.example', '203.0.113.9')), 'another issuer');
});

test('what succeeds, and what was not sent, is given back', () => {
  const { attempts } = attemptsWith(1, 1);
  for (let at = 0; at < 10; at += 1) {
    const attempt = attempts.begin(ISSUER, '198.51.100.1');
    assert.ok(!('limit' in attempt));
    assert.ok('limit' in attempts.begin(ISSUER, '198.51.100.1'), 'one is under way');
    if (at % 2 === 0) attempt.succeeded();
    else attempt.unused();
  }
});

test('0 is no limit', () => {
  const { junk } = attemptsWith(0, 0);
  for (let at = 0; at < 1000; at += 1) assert.ok(!('limit' in junk('198.51.100.1')));
});
