import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Attempt, LoginAttempts, type TooManyAttempts, widestNetworkOf } from './login-attempts.ts';

const ISSUER = 'https://idp.example';

function attemptsWith(perAddress: number, perIssuer: number) {
  const clock = { ms: 1_000_000, nowMs: () => clock.ms };
  const attempts = new LoginAttempts({ perAddress, perIssuer }, clock);
  const begin = (clientAddress: string, issuer = ISSUER): Attempt | TooManyAttempts =>
    attempts.begin({ issuer, clientAddress, startedIn: widestNetworkOf(clientAddress), browser: null });
  const junk = (address: string): Attempt | TooManyAttempts => {
    const attempt = begin(address);
    if (!('limit' in attempt)) attempt.failed();
    return attempt;
  };
  return { clock, attempts, begin, junk };
}

test('limits an address and its /64 by failures until they are a minute old', () => {
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

test("a few failing addresses leave half of the issuer's budget to others", () => {
  const { begin, junk } = attemptsWith(100, 20);
  const refusals = Array.from({ length: 50 }, (_, at) => junk(`198.51.100.${at % 3}`)).filter((one) => 'limit' in one);
  assert.equal(refusals.length, 50 - 10);
  assert.deepEqual(refusals[0], { limit: 'issuer', retryAfterSeconds: 3 });
  const others = Array.from({ length: 5 }, (_, at) => begin(`203.0.113.${at}`));
  assert.ok(others.every((one) => !('limit' in one)));
  assert.deepEqual(begin('203.0.113.9'), { limit: 'issuer', retryAfterSeconds: 3 }, 'a quarter is kept');
  assert.ok(!('limit' in begin('203.0.113.9', 'https://other.example')), 'another issuer');
});

test('gives back successful and unsent attempts', () => {
  const { begin } = attemptsWith(1, 1);
  for (let at = 0; at < 10; at += 1) {
    const attempt = begin('198.51.100.1');
    assert.ok(!('limit' in attempt));
    assert.ok('limit' in begin('198.51.100.1'), 'one is in progress');
    if (at % 2 === 0) attempt.succeeded();
    else attempt.unused();
  }
});

test('0 means no limit', () => {
  const { junk } = attemptsWith(0, 0);
  for (let at = 0; at < 1000; at += 1) assert.ok(!('limit' in junk('198.51.100.1')));
});

test('limits a /56 to twice, a /48 and a /24 to four times the number of an address', () => {
  const cases = [
    { network: '/56', addressAt: (at: number) => `2001:db8:0:${(at % 256).toString(16)}::1`, allowed: 20 },
    { network: '/48', addressAt: (at: number) => `2001:db8:0:${(at * 256).toString(16)}::1`, allowed: 40 },
    { network: '/24', addressAt: (at: number) => `198.51.100.${at}`, allowed: 40 },
  ];
  for (const { network, addressAt, allowed } of cases) {
    const { junk } = attemptsWith(10, 0);
    const results = Array.from({ length: 100 }, (_, at) => junk(addressAt(at)));
    assert.equal(results.filter((one) => !('limit' in one)).length, allowed, network);
    const last = results.at(-1);
    assert.ok(last !== undefined && 'limit' in last && last.limit === 'address', network);
  }
});

test("a login that moved to another network leaves more of the issuer's budget to others than one that stayed", () => {
  const { attempts, begin } = attemptsWith(0, 8);
  const moved = (clientAddress: string, startedIn: string) =>
    attempts.begin({ issuer: ISSUER, clientAddress, startedIn, browser: null });
  for (let at = 0; at < 5; at += 1) assert.ok(!('limit' in moved(`198.51.${at}.1`, widestNetworkOf('203.0.113.1'))));
  assert.ok('limit' in moved('198.51.9.1', widestNetworkOf('203.0.113.1')));
  assert.ok(!('limit' in begin('198.51.9.1')), 'began and ends in one network');
});

test('recognizes a network that has logged in until it has failed ten times since', () => {
  const { begin, junk } = attemptsWith(0, 40);
  const first = begin('198.51.100.1');
  assert.ok(!('limit' in first));
  first.succeeded();
  for (let at = 0; at < 30; at += 1) assert.ok(!('limit' in begin(`203.0.${at}.1`)));
  assert.ok('limit' in begin('203.0.99.1'), 'the last quarter is for recognized networks');
  const again = begin('198.51.100.1');
  assert.ok(!('limit' in again));
  again.succeeded();
  const unsent = begin('198.51.100.1');
  assert.ok(!('limit' in unsent));
  unsent.unused();
  const failures = Array.from({ length: 20 }, () => junk('198.51.100.1'));
  assert.equal(failures.filter((one) => !('limit' in one)).length, 10);
});

test('a flood of failures from 30,000 networks does not evict those that have logged in', () => {
  const { begin, junk } = attemptsWith(0, 8);
  const first = begin('198.51.100.1');
  assert.ok(!('limit' in first));
  first.succeeded();
  for (let at = 0; at < 30_000; at += 1) junk(`2001:db8:${at.toString(16)}::1`);
  assert.ok('limit' in begin('203.0.113.1'));
  assert.ok(!('limit' in begin('198.51.100.1')));
});
