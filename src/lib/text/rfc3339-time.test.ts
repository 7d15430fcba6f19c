import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { parseRfc3339 } from './rfc3339-time.ts';

suite('times in RFC 3339', () => {
  for (const [text, utc] of [
    ['2026-11-20T18:00:00Z', '2026-11-20T18:00:00.000Z'],
    ['2026-11-20t18:00:00.5z', '2026-11-20T18:00:00.500Z'],
    ['2026-11-20T18:00:00+02:00', '2026-11-20T16:00:00.000Z'],
    ['2028-02-29T23:59:59-11:30', '2028-03-01T11:29:59.000Z'],
  ] as const) {
    test(`reads ${text}`, () => assert.equal(new Date(parseRfc3339(text) ?? Number.NaN).toISOString(), utc));
  }

  for (const text of [
    '',
    'Friday',
    '2026-11-20',
    '2026-11-20 18:00:00Z',
    '2026-11-20T18:00:00',
    '2026-11-20T18:00Z',
    '2026-02-30T00:00:00Z',
    '2026-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-10T00:00:00Z',
    '2026-11-20T24:00:00Z',
    '2026-11-20T18:60:00Z',
    '2026-11-20T18:00:60Z',
    '2026-11-20T18:00:00+24:00',
    '+002026-11-20T18:00:00Z',
    '1763661600',
    '2026-11-20T18:00:00Z\n',
  ]) {
    test(`rejects ${JSON.stringify(text)}`, () => assert.equal(parseRfc3339(text), null));
  }
});
