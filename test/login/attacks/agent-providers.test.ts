import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createGuardedFetch } from '../../../src/lib/guarded-fetch.ts';
import type { LoginRecords } from '../../../src/modules/module-runtime.ts';
import { settingsOf } from '../../../src/modules/module-settings.ts';
import { agentIssuers } from '../../../src/modules/oidc/agent-issuers.ts';
import { LoginOnRoute } from '../../../src/modules/oidc/login-on-route.ts';
import { LoginRuntime } from '../../../src/modules/oidc/login-runtime.ts';
import { oidc } from '../../../src/modules/oidc/oidc.ts';
import type { ConfiguredBy } from '../../../src/modules/prepared-module.ts';
import { openHostileWorld, refused } from '../hostile/hostile-world.ts';

test("cached data of an operator's issuer on a private network does not serve an agent that names it", async (t) => {
  const { provider } = await openHostileWorld(t);
  const everywhere = { isAddressAllowed: () => true, isPlainHttpAllowed: () => true };
  const runtime = await LoginRuntime.open(
    {
      clock: { nowMs: () => Date.now() },
      log: { info() {}, warn() {}, error() {} },
      fetch: createGuardedFetch(everywhere),
      isPlainHttpAllowed: () => true,
      // Plain http is allowed, so that the address alone decides.
      agentIssuers: agentIssuers({
        allowedCidrs: ['10.0.0.0/8'],
        isUpstreamAllowed: () => true,
        isPlainHttpAllowed: () => true,
        lookup: () => assert.fail('an address is not looked up'),
      }),
      mac: () => '',
      seal: () => '',
      open: () => null,
      newId: (prefix) => `${prefix}_1`,
      logins: {
        onChanged: () => () => {},
        onReset: () => () => {},
        currentSeq: () => Promise.resolve(0),
        listEdgeIds: () => Promise.resolve([]),
        isShared: false,
      } as unknown as LoginRecords,
      signingKeys: { list: () => [], add: () => Promise.resolve(), remove: () => Promise.resolve() },
      moduleConfigs: () => [],
      count() {},
    },
    settingsOf(new Map(), oidc),
  );
  t.after(() => runtime.close());
  const start = { redirectUri: 'https://a.example/cb', state: 's', nonce: 'n', codeVerifier: 'v'.repeat(43) };
  const login = (configuredBy: ConfiguredBy) => {
    const config = { enabled: true, issuer: provider.issuer, client_id: 'c', client_secret: 's', scopes: [] };
    const preparation = oidc.prepare({ ...config, cookie_prefix: '' } as never, {
      record: () => undefined,
      children: () => [],
      place: { edgeId: 'e', routeId: 'r' },
      runtime,
      configuredBy,
      settings: {},
    });
    assert.ok(preparation.ok && preparation.prepared instanceof LoginOnRoute);
    return preparation.prepared.client.authorizationUrl(start);
  };
  assert.ok(await login('operator'));
  await refused(login('agent'), 'configuration', 'address_refused');
  assert.ok(await login('operator'), "an agent's failure is none of the operator's");
});
