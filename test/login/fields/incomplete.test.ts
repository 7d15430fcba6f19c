import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { LoginWorld } from '../../support/login-world.ts';
import { assertLoginWanted, change } from '../flow/steps.ts';

const world = await LoginWorld.open({ after });

for (const [name, fields, missing] of [
  ['issuer', { issuer: '' }, 'no issuer'],
  ['client_id', { client_id: '' }, 'no client_id'],
  ['both', { issuer: '', client_id: '' }, 'no issuer and no client_id'],
] as const) {
  test(`an enabled module without ${name} admits nobody, reports it, and opens when it is complete`, async () => {
    const site = await world.site();
    const browser = world.browser();
    await browser.logIn(site.host);
    await change(world, site, fields);
    for (const path of ['/', '/.postern/login?go=1', '/.postern/callback', '/.postern/jwks.json']) {
      const answer = await browser.open(site.host, path);
      assert.equal(answer.status, 503, path);
      assert.match(answer.text, /its oidc module is enabled but cannot be applied/);
      assert.equal(answer.headers['postern-error-code'], 'ERR_POSTERN_MODULE_UNAVAILABLE');
    }
    const preflight = await world.edge.ask(site.host, '/', { method: 'OPTIONS' });
    assert.equal(preflight.status, 503);
    const module = await world.edge.world.api('GET', `${site.routePath}/oidc`);
    assert.equal(module.status, 200);
    assert.ok(
      (module.headers.get('postern-problem') ?? '').includes(missing),
      module.headers.get('postern-problem') ?? '-',
    );
    await change(world, site, { ...fields, enabled: false });
    assert.equal((await browser.open(site.host)).status, 200);
    assert.equal((await world.edge.world.api('GET', `${site.routePath}/oidc`)).headers.get('postern-problem'), null);
    await change(world, site, {});
    assertLoginWanted(await world.browser().open(site.host));
  });
}
