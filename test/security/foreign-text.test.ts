// Own process: compares times, which the heap of other files would distort.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { withoutLongChallenge } from '../../src/modules/login/openid/openid-login-client.ts';
import { FOREIGN_TEXT_READERS } from './foreign-text.ts';

/** Linear is 4, quadratic is 16. */
const TOO_MUCH = 10;
/** Smaller values cannot be measured well, and are harmless. */
const FLOOR_MS = 50;
const ROUNDS = 8;

/** The best of several rounds: noise only ever adds. */
function costMs(read: () => unknown): number {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round += 1) {
    // The CPU time of this thread: the wall clock counts other processes too.
    const before = process.threadCpuUsage();
    read();
    const { user, system } = process.threadCpuUsage(before);
    best = Math.min(best, (user + system) / 1000);
    // More rounds add nothing.
    if (best < FLOOR_MS || best > 1000) break;
  }
  return best;
}

suite('parsing foreign text takes time proportional to its length', () => {
  for (const { name, maxLength, prepare, texts } of FOREIGN_TEXT_READERS) {
    test(name, () => {
      for (const [what, make] of Object.entries(texts)) {
        const whole = costMs(prepare(make(maxLength)));
        if (whole < FLOOR_MS) continue;
        const quarter = costMs(prepare(make(maxLength / 4)));
        assert.ok(
          whole < TOO_MUCH * Math.max(quarter, FLOOR_MS / 10),
          `${what}: ${quarter.toFixed(1)} ms for ${maxLength / 4} characters, but ${whole.toFixed(1)} ms for ${maxLength}`,
        );
      }
    });
  }
});

test("a provider's long challenge does not reach the OAuth library, which parses it in quadratic time", () => {
  for (const [challenge, kept] of [
    ['Bearer error="invalid_client"', 'Bearer error="invalid_client"'],
    [`Bearer ${'a=b,'.repeat(4000)}`, null],
  ] as const) {
    const response = withoutLongChallenge(new Response('{}', { headers: { 'www-authenticate': challenge } }));
    assert.equal(response.headers.get('www-authenticate'), kept);
  }
});
