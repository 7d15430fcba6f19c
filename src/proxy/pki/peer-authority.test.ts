import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { suite, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { certifiedNode } from './certified-node.ts';
import type { AuthorityPair, AuthorityRecords } from './internal-ca-places.ts';
import { openPeerAuthority } from './peer-authority.ts';

const NOW_MS = Date.UTC(2026, 10, 16);
const LOG = { info() {}, warn() {} };

/** A store with two nodes: a record is visible only after a while, and the first one stays. */
function sharedRecords(): { readonly records: AuthorityRecords; readonly pairs: Map<string, AuthorityPair> } {
  const pairs = new Map<string, AuthorityPair>();
  const add = async (id: string, pair: AuthorityPair): Promise<void> => {
    await setImmediate();
    if (!pairs.has(id)) pairs.set(id, pair);
  };
  return { pairs, records: { get: (id) => pairs.get(id) ?? null, add } };
}

suite('peer authority', () => {
  test('two nodes that start at the same time have the same one, and so has a third later', async () => {
    const { records } = sharedRecords();
    const open = () => openPeerAuthority(records, LOG, NOW_MS);
    const [one, other] = await Promise.all([open(), open()]);
    assert.equal(one.caPem, other.caPem);
    assert.equal((await open()).caPem, one.caPem);
  });

  test('certifies a node for hours around now, for both ends, and names it', async () => {
    const authority = await openPeerAuthority(sharedRecords().records, LOG, NOW_MS);
    const { certificatePem, notAfterMs } = await authority.mint('nd_2abcDEF', NOW_MS);
    const certificate = new X509Certificate(certificatePem);
    assert.ok(certificate.verify(new X509Certificate(authority.caPem).publicKey));
    assert.equal(certifiedNode(certificate), 'nd_2abcDEF');
    assert.equal(certificate.subject, 'CN=nd_2abcDEF');
    assert.deepEqual(certificate.keyUsage, ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2']);
    assert.ok(certificate.validFromDate.getTime() <= NOW_MS - 3_600_000);
    assert.equal(certificate.validToDate.getTime(), notAfterMs);
    assert.ok(notAfterMs >= NOW_MS + 3_600_000 && notAfterMs <= NOW_MS + 72 * 3_600_000);
  });

  test('finds no node in other names', () => {
    for (const subjectAltName of [
      undefined,
      '',
      'DNS:nd_2abc',
      'URI:urn:postern:node:',
      'URI:urn:postern:node:nd_1, URI:urn:postern:node:nd_2',
      'URI:urn:postern:node:ts_1',
      'DNS:a, URI:urn:postern:node:nd_1',
    ])
      assert.equal(certifiedNode({ subjectAltName }), null, subjectAltName ?? 'none');
  });

  test('rejects a damaged record and says what to do', async () => {
    const { records, pairs } = sharedRecords();
    await openPeerAuthority(records, LOG, NOW_MS);
    const [id = ''] = pairs.keys();
    pairs.set(id, { ...(pairs.get(id) as AuthorityPair), privateKeyPem: 'nonsense' });
    await assert.rejects(openPeerAuthority(records, LOG, NOW_MS), /restore the database from a backup/);
  });
});
