import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { LoginProblem } from '../login/provider/login-problem.ts';
import { fetchedTenantIssuer } from '../login/provider/providers.ts';
import { TenantTokens } from './oauth-client.ts';

const BASE = 'https://login.example/common';
const TENANT = '11111111-2222-4333-8444-555555555555';
const { publicKey, privateKey } = await generateKeyPair('RS256');
const jwk = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'RS256', use: 'sig' };

/** Verifies a token for the client `app` with a key set of one key, which has these fields too. */
async function claimsOf(token: string, keyFields: object): Promise<unknown> {
  const answers: Readonly<Record<string, object>> = {
    [`${BASE}/v2.0/.well-known/openid-configuration`]: {
      issuer: 'https://login.example/{tenantid}/v2.0',
      jwks_uri: 'https://login.example/keys',
    },
    'https://login.example/keys': { keys: [{ ...jwk, ...keyFields }] },
  };
  const fetch = (url: string | URL) => Promise.resolve(Response.json(answers[String(url)]));
  const clock = { nowMs: () => Date.now() };
  const source = fetchedTenantIssuer(BASE, { fetch, clock, isPlainHttpAllowed: () => false });
  const tokens = new TenantTokens(source, clock);
  return tokens.verify(token, 'app', { nonce: null, isRefresh: true });
}

const signed = new SignJWT({ tid: TENANT })
  .setProtectedHeader({ alg: 'RS256', kid: 'one' })
  .setIssuer(`https://login.example/${TENANT}/v2.0`)
  .setSubject('u1')
  .setAudience('app')
  .setIssuedAt()
  .setExpirationTime('5m')
  .sign(privateKey);

suite('the issuer of a key', () => {
  for (const issuer of [undefined, 'https://login.example/{tenantid}/v2.0', `https://login.example/${TENANT}/v2.0`]) {
    test(`admits a token of its tenant: ${issuer}`, async () => {
      assert.deepEqual(await claimsOf(await signed, issuer === undefined ? {} : { issuer }), {
        sub: 'u1',
        tid: TENANT,
      });
    });
  }

  for (const issuer of [
    7,
    null,
    [],
    {},
    true,
    '',
    [`https://login.example/${TENANT}/v2.0`],
    'https://login.example/other/v2.0',
  ]) {
    test(`rejects the token when it is another or no text: ${JSON.stringify(issuer)}`, async () => {
      await assert.rejects(claimsOf(await signed, { issuer }), (error) => {
        assert.ok(error instanceof LoginProblem, String(error));
        assert.equal(error.reason, 'id_token_issuer');
        return true;
      });
    });
  }
});
