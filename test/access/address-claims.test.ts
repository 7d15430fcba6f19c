import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { StoredRecords } from '../edge/settings/stored-records.ts';
import { LoginWorld } from '../support/login-world.ts';

/** Has registered the address of somebody else, which the provider has not verified. */
const EVE = {
  id: 'eve',
  claims: { email: 'boss@example.com', email_verified: false, preferred_username: 'boss@example.com', groups: ['all'] },
};
const world = await LoginWorld.open({ after }, { provider: { users: [EVE] } });
const stored = new StoredRecords(world.edge);
const BOSS = ['boss@example.com'];

const spellings = ['email', 'Email', 'e-mail', 'user.email', 'https://example.com/email', 'email_verified'];

suite('a claim that may have an unverified address', async () => {
  const site = await world.site();

  for (const name of [...spellings, 'user_email', 'primary_email', 'email.value', 'preferred_username', 'upn']) {
    test(`is refused at write time, with the remedy: ${name}`, async () => {
      const claims = { [name]: BOSS };
      const bearer = [{ issuer: 'https://ci.example.com', audiences: ['postern'], claims }];
      for (const [rules, remedy] of [
        [{ allow: [{ claims }] }, /use emails or email_domains/],
        [{ allow: [{ emails: BOSS }], deny: [{ claims }] }, /use emails or email_domains/],
        [{ bearer }, /such as sub/],
      ] as const) {
        const answer = await world.edge.world.api('PUT', `${site.routePath}/access`, rules);
        assert.equal(answer.status, 400, JSON.stringify(rules));
        assert.match(JSON.stringify(answer.body), remedy);
      }
    });
  }

  test('fails closed if a store has it, and is a problem of the route', async () => {
    const rules = { enabled: true, enforce: true, deny: [], bearer: [], forward_bearer: false };
    const doc = { ...rules, allow: [{ claims: { email: BOSS } }, { claims: { groups: ['all'] } }] };
    await stored.putRouteModule(site, 'access', doc);
    const eve = world.browser();
    const page = await eve.open(site.host, '/');
    assert.deepEqual([page.status, page.headers['postern-error-code']], [503, 'ERR_POSTERN_MODULE_UNAVAILABLE']);
    const { headers } = await world.edge.world.api('GET', site.routePath);
    assert.match(headers.get('postern-problem') ?? '', /^access: .*allow.*email.*use emails or email_domains/);
  });
});

test('the address itself admits nobody who has not verified it', async () => {
  const site = await world.site();
  await world.edge.api('PUT', `${site.routePath}/access`, { allow: [{ emails: BOSS }] });
  const page = await world.browser().logIn(site.host, '/', 'eve');
  assert.deepEqual([page.status, page.headers['postern-error-code']], [403, 'ERR_POSTERN_ACCESS_DENIED']);
});
