import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createGuardedFetch } from '../../../src/kit/http/guarded-fetch.ts';
import type { ConfiguredBy } from '../../../src/modules/contract/agent-form.ts';
import { LoginOnRoute } from '../../../src/modules/login/login-on-route.ts';
import { LoginRuntime } from '../../../src/modules/login/login-runtime.ts';
import type { LoginSettings } from '../../../src/modules/login/settings.ts';
import { settingsOf } from '../../../src/modules/module-settings.ts';
import { OidcRuntime, oidc } from '../../../src/modules/oidc/oidc.ts';
import { inertPorts, preparePorts } from '../../support/inert-ports.ts';
import { openHostileWorld, refused } from '../hostile/hostile-world.ts';

const defaults: LoginSettings = settingsOf(new Map(), oidc);

test("cached data of an operator's issuer on a private network does not serve an agent that names it", async (t) => {
  const { provider } = await openHostileWorld(t);
  // Plain http is allowed, so that the address alone decides.
  const settings: LoginSettings = {
    ...defaults,
    oidc_http_issuers: ['127.0.0.1'],
    agent_issuer_allow_cidrs: ['10.0.0.0/8'],
  };
  const lookup = () => assert.fail('an address is not looked up');
  const runtime = await LoginRuntime.open(
    inertPorts({
      network: {
        isAddressAllowed: () => true,
        createFetch: (limits) => createGuardedFetch({ ...limits, lookup }),
      },
    }),
    settings,
  );
  t.after(() => runtime.close());
  const start = { redirectUri: 'https://a.example/cb', state: 's', nonce: 'n', codeVerifier: 'v'.repeat(43) };
  const login = (configuredBy: ConfiguredBy) => {
    const config = { enabled: true, issuer: provider.issuer, client_id: 'c', client_secret: 's', scopes: [] };
    const own = new OidcRuntime({ shared: () => runtime as never, ownConfigs: () => [] });
    const ports = preparePorts({ runtime: own, configuredBy });
    const preparation = oidc.prepare({ ...config, cookie_prefix: '' } as never, ports);
    assert.ok(preparation.ok && preparation.prepared instanceof LoginOnRoute);
    return preparation.prepared.client.authorizationUrl(start);
  };
  assert.ok(await login('operator'));
  await refused(login('agent'), 'configuration', 'address_refused');
  assert.ok(await login('operator'), "an agent's failure is none of the operator's");
});
