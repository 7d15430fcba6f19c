import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { acceptAgentLimits } from './rate-limit.ts';
import { checkLimits, type Limit, normalizedKey, normalizeLimits } from './rate-limit-config.ts';

function limitOf(text: string): Limit | null {
  const accepted = acceptAgentLimits({ limits: [text], enforce: true });
  return 'problem' in accepted ? null : ((accepted.config['limits'] as unknown as Limit[])[0] ?? null);
}

test('a limit reads as it is written', () => {
  const key = 'address';
  assert.deepEqual(limitOf('100/60'), { limit: 100, window_seconds: 60, burst: 0, key });
  assert.deepEqual(limitOf('100/1m burst 20'), { limit: 100, window_seconds: 60, burst: 20, key });
  assert.deepEqual(limitOf('5/24h by user'), { limit: 5, window_seconds: 86_400, burst: 0, key: 'user' });
  assert.deepEqual(limitOf('1/1s burst 2 by header:x'), { limit: 1, window_seconds: 1, burst: 2, key: 'header:x' });
});

test('texts that are no limit are refused', () => {
  for (const text of [
    ...['', '100', '100/', '/60', '-1/60', '1.5/60', '1e3/60', '0/60', '1/0', '1/25h', '1/86401', '1000001/1', '1/1d'],
    ...['1/1s burst', '1/1s burst -1', '1/1s burst 1000001', '1/1s by', '1/1s by a b', '1/1s by user burst 2'],
    ...[' 1/1s', '1/1s ', '1/1s\n', '1 / 1s', '１/1s', '1/1S'],
  ])
    assert.equal(limitOf(text), null, JSON.stringify(text));
});

test('any text is a limit within the bounds, or none', () => {
  const part = fc.oneof(
    fc.string({ maxLength: 20 }),
    fc.constantFrom('1/1s', '/', ' burst ', ' by ', 'header:', '99999999', 'h', '0'),
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 6 }), (parts) => {
      const limit = limitOf(parts.join(''));
      if (limit === null) return;
      assert.ok(limit.limit >= 1 && limit.limit <= 1_000_000 && limit.burst <= 1_000_000);
      assert.ok(limit.window_seconds >= 1 && limit.window_seconds <= 86_400);
    }),
    { numRuns: 2_000 },
  );
});

test('a configuration that was accepted is accepted in the form in which it is stored, which stays the same', () => {
  const key = fc.oneof(
    fc.constantFrom('address', 'user', 'service_account', 'route', '', 'header:X-Key', 'HEADER:x'),
    fc.string({ maxLength: 12 }).map((name) => `header:${name}`),
    fc.string({ maxLength: 12 }),
  );
  const limit = fc.record({
    limit: fc.integer({ min: 1, max: 9 }),
    window_seconds: fc.integer({ min: 1, max: 9 }),
    key,
  });
  fc.assert(
    fc.property(fc.array(limit, { minLength: 1, maxLength: 5 }), (limits) => {
      const config = { enabled: true, enforce: true, limits };
      if (checkLimits(config).length > 0) return;
      const stored = normalizeLimits(config);
      assert.deepEqual(checkLimits(stored), []);
      assert.deepEqual(normalizeLimits(stored), stored);
      for (const each of stored.limits) assert.equal(normalizedKey(each.key ?? ''), each.key);
    }),
    { numRuns: 2_000 },
  );
});
