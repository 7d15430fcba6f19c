import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyAnswer } from './any-answer.ts';
import { askNode } from './ask-node.ts';
import { parseAnswer } from './parse-answer.ts';

const isLong = process.env['POSTERN_TEST_LONG'] === '1';
const numRuns = isLong ? 200_000 : 1000;

/** Splits `bytes` at the given positions. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [...new Set(places.map((place) => Math.floor(place * bytes.length)))].sort((a, b) => a - b);
  return [0, ...at].map((from, i) => bytes.subarray(from, at[i] ?? bytes.length));
}

test('arbitrary bytes neither crash nor hang it, and are never a response', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 5 }), fc.boolean(), (pieces, isHead) => {
      const { state } = parseAnswer(pieces, { isHead, ends: true });
      assert.ok(state === 'failed' || state === 'head');
    }),
    { numRuns },
  );
});

test('any split into pieces, down to single bytes, gives the same result', () => {
  const places = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 8 });
  fc.assert(
    fc.property(anyAnswer, places, fc.boolean(), fc.boolean(), (bytes, at, isHead, ends) => {
      const whole = parseAnswer([bytes], { isHead, ends });
      const comparable = ({ state, informational, head, body, trailers, isReusable, rest, problem }: typeof whole) => ({
        state,
        informational,
        head,
        body,
        trailers,
        isReusable,
        rest,
        reason: problem?.reason,
      });
      assert.deepEqual(comparable(parseAnswer(cut(bytes, at), { isHead, ends })), comparable(whole));
      const single = Array.from(bytes, (byte) => Buffer.of(byte));
      assert.deepEqual(comparable(parseAnswer(single, { isHead, ends })), comparable(whole));
    }),
    { numRuns },
  );
});

test("never accepts what Node's own client (llhttp) rejects, and parses alike what both accept", async () => {
  const counts = { both: 0, onlyNode: 0, neither: 0 };
  const strictness = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(anyAnswer, fc.constantFrom('GET', 'HEAD'), async (bytes, method) => {
      const ours = parseAnswer([bytes], { isHead: method === 'HEAD', ends: true });
      // Bytes after a response do not count: they are never read, and the connection is closed.
      const theirs = await askNode(bytes.subarray(0, bytes.length - ours.rest.length), method);
      if (ours.state === 'done') {
        assert.ok(theirs.isAccepted, `Node: ${theirs.isAccepted ? '' : theirs.why}; ours: ${JSON.stringify(ours)}`);
        assert.deepEqual([ours.head?.status, ours.body], [theirs.status, theirs.body]);
        counts.both += 1;
      } else if (theirs.isAccepted) {
        counts.onlyNode += 1;
        const why = ours.problem?.message ?? ours.state;
        strictness.set(why, (strictness.get(why) ?? 0) + 1);
      } else counts.neither += 1;
    }),
    { numRuns },
  );
  // A generator of pure nonsense would prove nothing.
  assert.ok(counts.both > numRuns / 20, JSON.stringify(counts));
  if (isLong) console.log(counts, strictness);
});
