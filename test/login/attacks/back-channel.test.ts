import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createGuardedFetch } from '../../../src/kit/http/guarded-fetch.ts';
import type { SharedPorts } from '../../../src/modules/contract/keeps-state.ts';
import type { LoginRecords } from '../../../src/modules/contract/login-store.ts';
import type { OwnPathRequest, OwnPathSite } from '../../../src/modules/contract/prepared-module.ts';
import { backChannelLogout } from '../../../src/modules/login/flow/logout.ts';
import { LoginOnRoute } from '../../../src/modules/login/login-on-route.ts';
import { LoginRuntime } from '../../../src/modules/login/login-runtime.ts';
import { settingsOf } from '../../../src/modules/module-settings.ts';
import { oidc } from '../../../src/modules/oidc/oidc.ts';
import { idleLogins, inertPorts } from '../../support/inert-ports.ts';
import { openHostileWorld } from '../hostile/hostile-world.ts';

/** A login runtime with a store that can only end logins, and fail at that. */
function portsWith(logins: Partial<LoginRecords>): SharedPorts {
  return inertPorts({
    network: {
      isAddressAllowed: () => true,
      createFetch: () => createGuardedFetch({ isAddressAllowed: () => true, isPlainHttpAllowed: () => true }),
    },
    logins: idleLogins(logins),
  });
}

test('a logout that the store could not write is not treated as used when the provider repeats it', async (t) => {
  const { provider, client } = await openHostileWorld(t);
  let isDown = true;
  const ended: (string | null)[] = [];
  const used = new Set<string>();
  const runtime = await LoginRuntime.open(
    portsWith({
      endByProvider: ({ providerSessionId, token }) => {
        if (isDown) return Promise.reject(new Error('the store is away'));
        if (used.has(token?.key ?? '')) return Promise.resolve(null);
        used.add(token?.key ?? '');
        ended.push(providerSessionId);
        return Promise.resolve(['as_1']);
      },
    }),
    settingsOf(new Map(), oidc),
  );
  t.after(() => runtime.close());
  const login = new LoginOnRoute(
    runtime,
    {
      module: 'oidc',
      edgeId: 'edghts_1',
      routeId: 'edghtsrt_1',
      issuer: provider.issuer,
      clientId: provider.clientId,
      identityProvider: { name: 'oidc', url: provider.issuer },
      scopes: [],
      cookiePrefix: '',
      limits: { inactivitySeconds: 0, maximumSeconds: 0 },
      parameters: null,
      passesOptions: false,
      scopesFor: () => [],
      recheckSeconds: null,
      admits: null,
    },
    client,
  );
  const body = Buffer.from(new URLSearchParams({ logout_token: await provider.logoutToken() }).toString());
  const request = { id: 'req_1', readBody: () => Promise.resolve(body) } as Partial<OwnPathRequest> as OwnPathRequest;
  const site = { modules: [login] } as Partial<OwnPathSite> as OwnPathSite;
  const send = async (): Promise<number> => {
    const answer = await backChannelLogout(runtime, request, site);
    return 'status' in answer ? answer.status : answer.refusal.status;
  };

  await assert.rejects(send(), /the store is away/);
  isDown = false;
  assert.equal(await send(), 200, 'the second try');
  assert.deepEqual(ended, ['sid-1']);
  assert.equal(await send(), 400, 'a used one');
});
