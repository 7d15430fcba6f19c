import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { assert as always, constantFrom, integer, property, string, uniqueArray } from 'fast-check';
import { type BareUnit, durationForm, durationMs, durationText, parseRfc3339, readDuration } from './time.ts';

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
] as const;
const unit = constantFrom<BareUnit[]>('seconds', 'hours', 'days');
const count = integer({ min: 0, max: 999_999_999 });
const anything = { minimum: 0, maximum: Number.MAX_SAFE_INTEGER, hasFractions: true };

suite('a duration', () => {
  for (const [text, ms] of [
    ['90s', 90_000],
    ['14d', 1_209_600_000],
    ['250ms', 250],
    ['1h30m', 5_400_000],
    ['1d2h3m4s5ms', 93_784_005],
    ['1m1ms', 60_001],
    ['0s', 0],
  ] as const)
    test(`${text} has ${ms} ms`, () => assert.equal(durationMs(text), ms));

  for (const text of ['', '90', 's', '1.5h', '30m1h', '1h 30m', ' 90s', '1H', '1w', '-1s', '+1s', '1s1s', '1e3s', '١s'])
    test(`rejects ${JSON.stringify(text)}`, () => assert.equal(durationMs(text), null));

  test('is the sum of its parts, largest first', () => {
    const parts = uniqueArray(integer({ min: 0, max: UNITS.length - 1 }), { minLength: 1 });
    always(
      property(parts, count, (chosen, number) => {
        const sorted = chosen.toSorted((one, other) => one - other).map((index) => UNITS[index] ?? assert.fail());
        const text = sorted.map(([name]) => `${number}${name}`).join('');
        assert.equal(
          durationMs(text),
          sorted.reduce((sum, [, each]) => sum + number * each, 0),
        );
      }),
    );
  });

  test('is read again from what is printed', () => {
    always(
      property(unit, count, (bare, value) => {
        assert.equal(readDuration(durationText(value, bare), { unit: bare, ...anything }), value);
      }),
    );
  });

  test('keeps its milliseconds when it is printed', () => {
    always(
      property(count, (ms) => {
        const seconds = readDuration(`${ms}ms`, { unit: 'seconds', ...anything }) ?? assert.fail();
        assert.equal(durationMs(durationText(seconds, 'seconds').replace(/^0$/, '0s')), ms);
      }),
    );
  });

  test('without a unit is in the documented one, as text and as a number', () => {
    always(
      property(unit, count, (bare, value) => {
        assert.equal(readDuration(value, { unit: bare, ...anything }), value);
        assert.equal(readDuration(String(value), { unit: bare, ...anything }), value);
      }),
    );
  });

  test('never reads other text as a number', () => {
    always(
      property(unit, string(), (bare, text) => {
        const value = readDuration(text, { unit: bare, ...anything });
        assert.ok(value === undefined || (Number.isFinite(value) && value >= 0), text);
      }),
    );
  });
});

suite('the rule of a duration', () => {
  test('bounds it', () => {
    const rule = { unit: 'seconds', minimum: 1, maximum: 3600 } as const;
    for (const [value, seconds] of [
      ['1s', 1],
      ['1h', 3600],
      ['60m', 3600],
      ['7', 7],
      [3600, 3600],
    ] as const)
      assert.equal(readDuration(value, rule), seconds, String(value));
    for (const value of ['0', '3601', '61m', '1d', '1s500ms', '1.5', 3601, 1.5, Number.NaN, true, null])
      assert.equal(readDuration(value, rule), undefined, String(value));
  });

  test('allows parts of seconds where they work, and only whole hours and days', () => {
    const rule = { unit: 'seconds', minimum: 0, maximum: 60, hasFractions: true } as const;
    assert.deepEqual(
      ['250ms', '0.25', 0.25].map((each) => readDuration(each, rule)),
      [0.25, 0.25, 0.25],
    );
    assert.equal(readDuration('36h', { unit: 'days', minimum: 0, maximum: 9 }), undefined);
    assert.equal(readDuration('48h', { unit: 'days', minimum: 0, maximum: 9 }), 2);
  });

  test('says which values are allowed, with an example', () => {
    assert.equal(
      durationForm({ unit: 'seconds', minimum: 1, maximum: 3600 }),
      'a duration from 1s to 1h in whole seconds, such as 90s or 1h30m; a number without a unit is in seconds',
    );
    assert.equal(
      durationForm({ unit: 'days', minimum: 0, maximum: 365 }),
      'a duration from 0 to 365d in whole days, such as 14d; a number without a unit is in days',
    );
  });
});

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
