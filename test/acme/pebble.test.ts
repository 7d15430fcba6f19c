import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { after, suite, test } from 'node:test';
import { certificatesIn } from '../../src/lib/describe-certificate.ts';
import { isIssued, managedRecord, untilManaged } from '../support/acme/acme-world.ts';
import { type Pebble, pebbleIsMissing, startPebble } from '../support/acme/pebble.ts';
import type { Cleanup } from '../support/cleanup.ts';
import { EdgeWorld } from '../support/edge-world.ts';

const skip = pebbleIsMissing() ?? false;

/** A server that orders from pebble, which validates at its edge. */
async function openWorld(
  cleanup: Cleanup,
  pebble: Pebble,
  env: Readonly<Record<string, string>> = {},
): Promise<EdgeWorld> {
  const edge = await EdgeWorld.open(
    cleanup,
    {
      POSTERN_ACME: 'on',
      POSTERN_ACME_DIRECTORY: pebble.directoryUrl,
      POSTERN_ACME_CA_FILE: pebble.caFile,
      ...env,
    },
    { resolveName: async () => ['127.0.0.1'] },
  );
  const { addresses } = edge.world.server;
  pebble.tls.targets.splice(0, 1, addresses.edge?.port ?? 0);
  pebble.http.targets.splice(0, 1, addresses.edgeHttp?.port ?? 0);
  return edge;
}

suite('certificates from a real ACME server', { skip }, async () => {
  const pebble = await startPebble({ after });

  test('orders a certificate for the host of an edge by tls-alpn-01', async (context) => {
    const edge = await openWorld(context, pebble);
    await edge.edge('first.example.com');
    const doc = await untilManaged(edge.world.server, 'first.example.com', isIssued);
    assert.equal(doc.challenge_type, 'tls-alpn-01');
    const [leaf, ...issuers] = certificatesIn(doc.certificate_pem as string);
    assert.equal(leaf?.checkHost('first.example.com'), 'first.example.com');
    assert.ok(issuers.at(-1)?.checkIssued(new X509Certificate(await pebble.root())));
    assert.equal(leaf?.publicKey.asymmetricKeyType, 'ec');
    const renewsAfterMs = Date.parse(doc.renews_at as string) - Date.parse(doc.not_before as string);
    const lifeMs = Date.parse(doc.not_after as string) - Date.parse(doc.not_before as string);
    assert.equal(Math.round((renewsAfterMs / lifeMs) * 100), 67);
    const record = managedRecord(edge.world.server, 'first.example.com');
    assert.deepEqual(Object.keys(record?.secrets ?? {}), ['/private_key']);
    assert.deepEqual([...edge.world.server.replica.all('acme_challenge')], []);
  });

  test('uses http-01 where it is the only configured challenge', async (context) => {
    const edge = await openWorld(context, pebble, { POSTERN_ACME_CHALLENGES: 'http-01' });
    await edge.edge('second.example.com');
    const doc = await untilManaged(edge.world.server, 'second.example.com', isIssued);
    assert.equal(doc.challenge_type, 'http-01');
  });
});
