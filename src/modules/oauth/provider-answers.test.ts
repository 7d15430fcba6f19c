import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LoginProblem } from '../login/provider/login-problem.ts';
import { requestTokens } from './oauth-client.ts';
import { ProviderApi } from './provider-definition.ts';

const TOKEN_URL = 'https://provider.example/token';

for (const accessToken of ['two\r\nlines', 'caf\u00e9 \u2603', '', 'x'.repeat(16_385), 7]) {
  test(`an access token that no header can carry is a problem of the provider: ${JSON.stringify(accessToken).slice(0, 20)}`, async () => {
    const body = { access_token: accessToken, token_type: 'bearer' };
    await assert.rejects(
      requestTokens(() => Promise.resolve(Response.json(body)), TOKEN_URL, {}),
      LoginProblem,
    );
  });
}

test('a page with more items than a call has arguments is read', async () => {
  const page = `[${'{},'.repeat(300_000)}{}]`;
  const api = new ProviderApi({
    fetch: () => Promise.resolve(new Response(page)),
    endpoints: { authorize_url: TOKEN_URL, token_url: TOKEN_URL, api_url: TOKEN_URL },
    clientId: '',
    clientSecret: '',
    accessToken: 'x',
    idClaims: null,
    scopes: [],
  });
  assert.equal((await api.list('/items')).length, 300_001);
});
