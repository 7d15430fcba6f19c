import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { trafficRequest } from '../../../test/support/traffic-request.ts';
import { type Identity, isPass, type Permit } from '../contract/decides.ts';
import { type LoginConfig, LoginOnRoute } from './login-on-route.ts';

const CONFIG = { module: 'oidc', edgeId: 'edghts_1', routeId: 'edghtsrt_1', cookiePrefix: '', scopes: [] };

/** A route whose visitors have no session. */
function login(): LoginOnRoute {
  const runtime = { sessions: { find: () => null }, ownPaths: {} };
  return new LoginOnRoute(runtime as never, CONFIG as unknown as LoginConfig, {} as never);
}

function permitOf(kind: Identity['kind']): Permit {
  const identity = { kind, id: 'x', email: '', isEmailVerified: false, name: '', claims: {}, droppedClaims: [] };
  return { userId: 'x', module: 'access', version: 0, identity, isHeld: () => true, touch() {} };
}

suite('a request that already has a permit', () => {
  for (const kind of ['service_account', 'workload', 'guest'] as const) {
    test(`passes when it is that of a ${kind}`, () => {
      const request = { ...trafficRequest('GET', '/', () => undefined), permit: permitOf(kind) };
      const verdict = login().judge(request);
      assert.ok(isPass(verdict));
      assert.equal(verdict.reason, 'recognized');
    });
  }

  test('needs a login of this route when it is that of a person', () => {
    const request = { ...trafficRequest('GET', '/', () => undefined), permit: permitOf('user') };
    assert.ok(!isPass(login().judge(request)));
  });
});
