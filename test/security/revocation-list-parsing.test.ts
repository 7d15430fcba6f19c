import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { ListProblem } from '../../src/lib/revocation-list/list-problem.ts';
import { isSignedBy } from '../../src/lib/revocation-list/list-signature.ts';
import { listsInBytes } from '../../src/lib/revocation-list/read-lists.ts';
import { issue } from '../edge/tls/test-authority.ts';
import { crl, hugeCrl, publishedAt, scope } from '../support/test-crl.ts';

const root = await issue({ commonName: 'root', isCa: true });
const alice = await issue({ commonName: 'alice', issuer: root });
const key = new X509Certificate(root.certificatePem).publicKey;
const genuine = await crl({ issuer: root, revoked: [alice], extensions: [publishedAt('http://crl.example.com/')] });

/** A list, or the problem that says why there is none. Anything else is a bug. */
async function parsed(bytes: Uint8Array) {
  try {
    return await listsInBytes(Buffer.from(bytes));
  } catch (error) {
    assert.ok(error instanceof ListProblem, String(error));
    return null;
  }
}

suite('revocation lists of a stranger', () => {
  test('random bytes are rejected with a reason', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 400 }), async (bytes) => assert.equal(await parsed(bytes), null)),
    );
  });

  test('a list with changed, removed or added bytes is rejected, or its signature does not hold', async () => {
    const { der } = genuine;
    const change = fc.record({ at: fc.nat(der.length - 1), drop: fc.nat(3), add: fc.uint8Array({ maxLength: 3 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 4 }), async (changes) => {
        let bytes: Buffer = der;
        for (const { at, drop, add } of changes) {
          bytes = Buffer.concat([bytes.subarray(0, at), add, bytes.subarray(at + drop)]);
        }
        if (bytes.equals(der)) return;
        for (const list of (await parsed(bytes)) ?? []) {
          const isSame = list.signature.signed.equals(bytes.subarray(4, 4 + list.signature.signed.length));
          assert.ok(!isSignedBy(list.signature, key) || isSame);
          assert.ok(!isSignedBy(list.signature, key) || list.serials.count === 1);
        }
      }),
      { numRuns: 300 },
    );
  });

  test('every cut of a list is rejected', async () => {
    for (let length = 0; length < genuine.der.length; length += 1) {
      assert.equal(await parsed(genuine.der.subarray(0, length)), null);
    }
  });

  test('a list is not blocking other work while it is parsed', async () => {
    const huge = await hugeCrl(root, 200_000, [alice]);
    let turns = 0;
    const counting = (): void => {
      turns += 1;
      if (turns < 1_000_000 && !isOver) setImmediate(counting);
    };
    let isOver = false;
    setImmediate(counting);
    const [list] = await listsInBytes(huge);
    isOver = true;
    assert.equal(list?.serials.count, 200_001);
    assert.ok(turns > 2, `${turns} turns`);
    assert.equal(isSignedBy(list.signature, key), true);
  });

  test('scopes are kept apart', async () => {
    for (const [field, covers] of [
      ['onlyUser', 'user'],
      ['onlyCa', 'ca'],
    ] as const) {
      const [list] = await listsInBytes((await crl({ issuer: root, extensions: [scope(field)] })).der);
      assert.equal(list?.covers, covers);
    }
  });
});
