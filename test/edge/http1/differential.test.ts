import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isLong } from '../../support/share-of-cases.ts';
import { findDifferences } from './differences.ts';
import { ownReading } from './own-reading.ts';

const CASES = isLong ? 20_000 : 2000;
/** The same cases in every run; `test/long` tries others. POSTERN_TEST_SEED chooses. */
const seed = Number(process.env['POSTERN_TEST_SEED'] ?? 1);

test(`${CASES} hostile inputs are read as llhttp reads them, or refused (seed ${seed})`, async (t) => {
  const { accepted, stricter } = await findDifferences(seed, CASES);
  t.diagnostic(`${accepted} requests accepted; refused only by the edge: ${JSON.stringify([...stricter])}`);
  assert.ok(accepted > CASES / 2, 'too few of them are requests');
});

test('a tab behind "chunked" is refused: others do not see that such a body is chunked', async () => {
  for (const blank of ['\t', ' \t ', '\t ']) {
    const request = `PUT /x HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked${blank}\r\n\r\n0\r\n\r\n`;
    const { accepted, isRefused } = await ownReading([Buffer.from(request)]);
    assert.deepEqual([accepted, isRefused], [[], true], JSON.stringify(blank));
  }
});
