import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { LoginAttempts, widestNetworkOf } from './login-attempts.ts';

/** The documented defaults. */
const LIMITS = { perAddress: 60, perIssuer: 600 };
const ISSUER = 'https://idp.example';
const STEP_MS = 50;
/** Steps that a provider takes to reject a code. */
const ANSWER_STEPS = 4;

interface Attack {
  readonly perSecond: number;
  readonly minutes: number;
  readonly addressAt: (at: number) => string;
}

interface Visitors {
  readonly addressAt: (at: number) => string;
  /** How many of them have logged in before the attack starts. */
  readonly returning: number;
}

/** Runs an attack against the real class; returns the share of legitimate logins that were admitted. */
function honestShare({ perSecond, minutes, addressAt }: Attack, visitors: Visitors): number {
  const clock = { ms: 1_000_000, nowMs: () => clock.ms };
  const attempts = new LoginAttempts(LIMITS, clock);
  const begin = (clientAddress: string) =>
    attempts.begin({ issuer: ISSUER, clientAddress, startedIn: widestNetworkOf(clientAddress), browser: null });
  for (let at = 0; at < visitors.returning; at += 1) {
    const attempt = begin(visitors.addressAt(at));
    if (!('limit' in attempt)) attempt.succeeded();
  }
  const underWay: { readonly endsAt: number; end(): void }[] = [];
  const honest = { tried: 0, passed: 0 };
  let attacks = 0;
  for (let step = 0; step * STEP_MS < minutes * 60_000; step += 1) {
    clock.ms += STEP_MS;
    while (underWay[0] !== undefined && underWay[0].endsAt <= step) underWay.shift()?.end();
    for (; attacks < (perSecond * step * STEP_MS) / 1000; attacks += 1) {
      const attempt = begin(addressAt(attacks));
      if (!('limit' in attempt)) underWay.push({ endsAt: step + ANSWER_STEPS, end: () => attempt.failed() });
    }
    if (step % 7 !== 0) continue;
    const attempt = begin(visitors.addressAt(honest.tried));
    honest.tried += 1;
    if ('limit' in attempt) continue;
    honest.passed += 1;
    underWay.push({ endsAt: step + ANSWER_STEPS, end: () => attempt.succeeded() });
  }
  return honest.passed / honest.tried;
}

const hex = (number: number): string => number.toString(16);
/** Each for the first time, from its own /24. */
const newVisitors: Visitors = { addressAt: (at) => `100.${64 + Math.floor(at / 256)}.${at % 256}.7`, returning: 0 };
const returningVisitors: Visitors = { addressAt: (at) => newVisitors.addressAt(at % 20), returning: 20 };

const ATTACKERS: Readonly<Record<string, (at: number) => string>> = {
  'one address': () => '198.51.100.1',
  'a /64': (at) => `2001:db8:1:2::${hex(at % 65_536)}`,
  'a /56': (at) => `2001:db8:1:${hex(at % 256)}::1`,
  'a /48': (at) => `2001:db8:1:${hex((at * 257) % 65_536)}::1`,
  '256 IPv4 addresses of one /24': (at) => `198.51.100.${at % 256}`,
  '300 IPv4 addresses of as many /24': (at) => `198.${18 + (Math.floor(at / 150) % 2)}.${at % 150}.1`,
};

suite('legitimate visitors log in during an attack of failures', () => {
  for (const [name, addressAt] of Object.entries(ATTACKERS)) {
    test(`from ${name}`, () => {
      for (const [perSecond, minutes] of [
        [11, 10],
        [20, 10],
        [100, 1],
      ] as const) {
        const share = honestShare({ perSecond, minutes, addressAt }, newVisitors);
        assert.ok(share >= 0.99, `${perSecond} a second: ${share} of the honest logins`);
      }
    });
  }

  test('from addresses beside theirs, if they have logged in before', () => {
    const addressAt = (at: number): string => `100.64.${at % 20}.${8 + (at % 200)}`;
    assert.ok(honestShare({ perSecond: 100, minutes: 2, addressAt }, returningVisitors) >= 0.99);
  });

  test('from a new /48 each time, if they have logged in before', () => {
    const addressAt = (at: number): string => `2001:${hex(Math.floor(at / 65_536))}:${hex(at % 65_536)}::1`;
    assert.ok(honestShare({ perSecond: 50, minutes: 2, addressAt }, returningVisitors) >= 0.99);
  });
});
