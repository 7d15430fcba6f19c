import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { suite, test } from 'node:test';
import type { GuardedFetch } from '../../../kit/http/guarded-fetch.ts';
import { FetchedIssuer } from './issuer-source.ts';

const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const jwk = publicKey.export({ format: 'jwk' });
const setOf = (count: number) => ({ keys: Array.from({ length: count }, (_, at) => ({ ...jwk, kid: `key-${at}` })) });

function issuerOf(body: string) {
  const fetch = (async () => new Response(body)) as unknown as GuardedFetch;
  return new FetchedIssuer({
    fetch,
    clock: { nowMs: Date.now },
    discover: async () => ({ jwks_uri: 'https://id.example.com/keys' }),
  });
}

suite('keys of a provider', () => {
  test('200 are read, and none of more', async () => {
    const { set } = await issuerOf(JSON.stringify(setOf(200))).keys();
    assert.deepEqual(set, setOf(200));
    for (const count of [201, 6_000])
      await assert.rejects(issuerOf(JSON.stringify(setOf(count))).keys(), {
        message: new RegExp(`id\\.example\\.com/keys returned ${count} keys, and at most 200 are accepted`),
      });
  });

  test('6,000 keys do not stall the loop', async (t) => {
    const issuer = issuerOf(JSON.stringify(setOf(6_000)));
    let longestMs = 0;
    let lastMs = performance.now();
    const timer = setInterval(() => {
      const nowMs = performance.now();
      longestMs = Math.max(longestMs, nowMs - lastMs);
      lastMs = nowMs;
    }, 1);
    t.after(() => clearInterval(timer));
    await new Promise((resolve) => setTimeout(resolve, 20));
    await assert.rejects(issuer.keys());
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.ok(longestMs < 250, `${longestMs} ms`);
  });

  test('a body that is no set of keys is refused', async () => {
    for (const body of ['', '[]', '{}', '{"keys":{}}', '{"keys":[1]}', '{"keys":[', 'null'])
      await assert.rejects(issuerOf(body).keys(), { message: /not a JSON Web Key Set/ }, body);
  });
});
