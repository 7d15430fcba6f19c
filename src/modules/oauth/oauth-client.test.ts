import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { OauthClient } from './oauth-client.ts';
import type { ProviderName } from './provider-definition.ts';
import { providerDefinitions } from './providers.ts';

/** How each provider is asked for another account; null: it cannot be asked. */
const SWITCH: Readonly<Record<ProviderName, string | null>> = {
  amazon: null,
  facebook: 'auth_type=reauthenticate',
  github: 'prompt=select_account',
  gitlab: null,
  google: 'prompt=select_account',
  linkedin: null,
  microsoft: 'prompt=select_account',
  twitch: 'force_verify=true',
};

const START = { redirectUri: 'https://a.example/cb', state: 's', nonce: 'n', codeVerifier: 'v' };

async function queryOf(name: ProviderName, isChecked: boolean, isSwitch: boolean): Promise<URLSearchParams> {
  const definition = providerDefinitions[name];
  const { endpoints, scopes } = definition;
  const client = new OauthClient(
    { definition, endpoints, clientId: 'id', clientSecret: 'secret', scopes, isChecked },
    () => assert.fail('nothing is fetched'),
    null,
  );
  return (await client.authorizationUrl({ ...START, isSwitch })).searchParams;
}

suite('a login with another account', () => {
  for (const [name, parameter] of Object.entries(SWITCH) as [ProviderName, string | null][]) {
    test(`is asked of ${name} where it has a way`, async () => {
      const usual = (await queryOf(name, false, false)).toString();
      const expected = parameter === null ? usual : `${usual}&${parameter}`;
      assert.equal((await queryOf(name, false, true)).toString(), expected);
    });
  }

  test('keeps the other prompts of a login that is checked again', async () => {
    const query = await queryOf('google', true, true);
    assert.deepEqual([query.get('prompt'), query.get('access_type')], ['select_account consent', 'offline']);
  });
});
