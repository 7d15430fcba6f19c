import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { SliceQueue } from '../async/slices.ts';
import { parseUniqueJson } from '../json.ts';
import { parseJsonInSlices } from './json-in-slices.ts';

const parse = (text: string): Promise<unknown> => parseJsonInSlices(new SliceQueue(), Buffer.from(text), JSON.parse);
const LONG = 'x'.repeat(20_000);
const long = (count: number): object => Object.fromEntries(Array.from({ length: count }, (_, at) => [`f${at}`, LONG]));

suite('JSON in slices', () => {
  for (const value of [
    {},
    [],
    { a: [1, 'ü€😀 "],}{[\\', null, true, -1.5e3] },
    { before: 1, deep: { deeper: [long(4), [], long(5), { last: long(3) }] }, after: [LONG, LONG, LONG], '': {} },
    [[long(3)], long(3), [[[LONG, LONG, LONG]]]],
    { operations: Array.from({ length: 5_000 }, (_, at) => ({ method: 'POST', path: `/p/${at}`, body: { at } })) },
  ]) {
    for (const indent of [0, 2]) {
      test(`parses ${JSON.stringify(value).slice(0, 40)} as JSON.parse does, indented by ${indent}`, async () => {
        assert.deepEqual(await parse(JSON.stringify(value, null, indent)), value);
      });
    }
  }

  test('skips a byte order mark', async () => {
    assert.deepEqual(await parse('\ufeff{"a":"\ufeffb"}'), { a: '\ufeffb' });
  });

  const broken = [
    '',
    '1',
    '"a"',
    '{}{}',
    '[] 1',
    '{"a":1',
    '[1}',
    '\u00a0[]',
    `[${JSON.stringify(long(3))} ${JSON.stringify(long(3))}]`,
    `[${JSON.stringify(long(3))} 1]`,
    `[${JSON.stringify(long(3))},]`,
    `[,${JSON.stringify(long(3))}]`,
    `[1 ${JSON.stringify(long(3))}]`,
    `{"a":-${JSON.stringify(long(3))}}`,
    `{"a" ${JSON.stringify(long(3))}}`,
    `{${JSON.stringify(long(3))}}`,
    `{"__proto__":${JSON.stringify(long(3))}}`,
    `{"constructor":${JSON.stringify({ prototype: 1, ...long(3) })}}`,
  ];
  for (const text of broken) {
    test(`rejects ${JSON.stringify(text.length > 60 ? `${text.slice(0, 30)}…${text.slice(-20)}` : text)}`, async () => {
      await assert.rejects(parse(text), SyntaxError);
    });
  }

  for (const text of [
    `${'['.repeat(200)}${']'.repeat(200)}`,
    `["${'x'.repeat(2_000_000)}"]`,
    `${`[${' '.repeat(600_000)}`.repeat(3)}]]]`,
  ]) {
    test(`rejects ${JSON.stringify(text.slice(0, 10))}…, which it would have to parse in one turn`, async () => {
      await assert.rejects(parse(text), RangeError);
    });
  }

  test('rejects more values than fit into memory, and more fields than an object grows by in one turn', async () => {
    const many = Buffer.from(`[${'{},'.repeat(2_000_001)}{}]`);
    await assert.rejects(
      parseJsonInSlices(new SliceQueue(), many, () => []),
      { name: 'RangeError', message: 'the body has more than 4000000 values' },
    );
    await assert.rejects(parse(`{"a":[${fields(50_001)}]}`), {
      name: 'RangeError',
      message: 'the body has an object with more than 50000 fields',
    });
    assert.equal(Object.keys((await parse(fields(50_000))) as object).length, 50_000);
  });

  test('rejects a name that an object has twice, in one part or in two', async () => {
    const unique = (text: string): Promise<unknown> =>
      parseJsonInSlices(new SliceQueue(), Buffer.from(text), parseUniqueJson);
    const [far, held] = [`"far":"${LONG}${LONG}"`, `"far":${JSON.stringify([LONG, LONG, LONG])}`];
    for (const text of [
      '{"a":1,"a":1}',
      `{"a":1,${far},"a":1}`,
      `{"a":1,${held},"b":{},"a":1}`,
      `{${held},${held}}`,
      `[[${held.slice(6)}],{"\\u0061":1,"a":2}]`,
    ]) {
      await assert.rejects(unique(text), { name: 'DoubledNameError' }, text.slice(0, 20));
    }
    await unique(`{"a":1,${held},"b":{"a":1}}`);
  });

  test('rejects what is not UTF-8', async () => {
    await assert.rejects(
      parseJsonInSlices(new SliceQueue(), Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d]), JSON.parse),
      TypeError,
    );
  });

  test('agrees with JSON.parse about long texts that were damaged somewhere', async () => {
    const text = JSON.stringify([long(2), { a: [long(2), 1] }, 'ü', [LONG, { b: long(2) }]]);
    const places = [...text.matchAll(/[^x]+/g)].flatMap(({ index, 0: found }) =>
      Array.from({ length: found.length }, (_, at) => index + at),
    );
    for (let round = 0; round < 300; round += 1) {
      const at = places[(round * 7919) % places.length] as number;
      const damaged = `${text.slice(0, at)}${'{}[],:"\\1 '[round % 10]}${text.slice(at + (round % 3 === 0 ? 0 : 1))}`;
      await assertAgreement(damaged);
    }
  });
});

async function assertAgreement(text: string): Promise<void> {
  let expected: unknown;
  try {
    expected = JSON.parse(text);
  } catch {
    await assert.rejects(parse(text));
    return;
  }
  assert.deepEqual(await parse(text), expected);
}

function fields(count: number): string {
  return `{${Array.from({ length: count }, (_, at) => `"k${at}":1`).join(',')}}`;
}
