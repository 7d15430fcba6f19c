import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { ListProblem } from '../../src/kit/pki/certificate-extensions.ts';
import { listsInBytes } from '../../src/kit/pki/read-revocation-lists.ts';
import { isSignedBy } from '../../src/kit/pki/revocation-list.ts';
import { issue } from '../edge/tls/test-authority.ts';
import { contentsOf, crl, element, hugeCrl, long, publishedAt, scope } from '../support/test-crl.ts';

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

const DATE = element(0x17, Buffer.from('361101000000Z'));
const SEVEN = element(0x30, Buffer.concat([element(0x02, Buffer.from([7])), DATE]));

/** A list of these entries, whose signature means nothing. */
function unsigned(entries: Buffer): Buffer {
  const algorithm = element(0x30, element(0x06, Buffer.from('2a8648ce3d040302', 'hex')));
  const version = element(0x02, Buffer.from([1]));
  const signed = Buffer.concat([version, algorithm, element(0x30, Buffer.of()), DATE, DATE, long(0x30, entries)]);
  return long(0x30, Buffer.concat([long(0x30, signed), algorithm, element(0x03, Buffer.from([0, 1]))]));
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

  test('one serial number a hundred thousand times takes no longer than different ones', async () => {
    const found = await parsed(unsigned(Buffer.alloc(100_000 * SEVEN.length, SEVEN)));
    assert.equal(found?.[0]?.serials.count, 100_000);
    assert.equal(found?.[0]?.serials.has(Buffer.from([7])), true);
  });

  test('thousands of extensions are rejected', async () => {
    const extension = element(0x30, Buffer.concat([element(0x06, Buffer.from([0x2a, 3])), element(0x04, Buffer.of())]));
    const many = long(0x30, Buffer.alloc(10_000 * extension.length, extension));
    const entry = long(0x30, Buffer.concat([contentsOf(SEVEN), many]));
    await assert.rejects(listsInBytes(unsigned(entry)), /more than 64 extensions/);
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
