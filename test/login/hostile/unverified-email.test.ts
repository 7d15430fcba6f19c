import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { LoginWorld } from '../../support/login-world.ts';
import type { Fields } from './hostile-provider.ts';
import { startHostileProvider } from './hostile-provider.ts';
import { HostileSite, identityIn } from './hostile-site.ts';

const trusted = await startHostileProvider({ after });
const world = await LoginWorld.open({ after }, { env: { POSTERN_OIDC_UNVERIFIED_EMAIL_ISSUERS: trusted.issuer } });
const plain = await HostileSite.in(world, await startHostileProvider({ after }));
const listed = await HostileSite.in(world, trusted);

const EMAIL = 'ada@example.com';

async function told(site: HostileSite, user: Fields) {
  site.provider.user = { sub: 'user-1', ...user };
  const browser = await site.logIn();
  return identityIn(await site.open(browser));
}

suite('e-mail that the provider has not verified', () => {
  for (const [name, said] of [
    ['false', false],
    ['"false"', 'false'],
    ['absent', undefined],
    ['null', null],
    ['1', 1],
    ['"yes"', 'yes'],
  ] as const) {
    test(`email_verified ${name}: withheld from header, claims and assertion`, async () => {
      const { email, claims, assertion } = await told(plain, { email: EMAIL, email_verified: said });
      assert.deepEqual(
        [email, claims['email'], assertion['email'], assertion['email_verified']],
        Array(4).fill(undefined),
      );
      assert.equal(claims['sub'], 'user-1');
    });
  }

  for (const said of [true, 'true']) {
    test(`email_verified ${JSON.stringify(said)}: sent`, async () => {
      const { email, claims, assertion } = await told(plain, { email: EMAIL, email_verified: said });
      assert.deepEqual(
        [email, claims['email'], assertion['email'], assertion['email_verified']],
        [EMAIL, EMAIL, EMAIL, true],
      );
    });
  }

  for (const said of [false, undefined]) {
    test(`an issuer of oidc_unverified_email_issuers, email_verified ${said}: sent, and not marked verified`, async () => {
      const { email, assertion } = await told(listed, { email: EMAIL, email_verified: said });
      assert.deepEqual([email, assertion['email'], assertion['email_verified']], [EMAIL, EMAIL, false]);
    });
  }

  test('userinfo does not verify the address of the ID token', async () => {
    const site = await HostileSite.in(world, plain.provider, { scopes: ['email', 'profile'] });
    plain.provider.bend = {
      idTokenClaims: (claims) => ({
        ...claims,
        email: 'root@corp.example',
        email_verified: undefined,
        name: undefined,
      }),
      userinfo: () => ({ sub: 'user-1', email: 'eve@evil.example', email_verified: true, name: 'Eve' }),
    };
    const { email, name } = await told(site, {});
    assert.deepEqual([email, name], [undefined, 'Eve']);
    plain.provider.bend = {
      idTokenClaims: (claims) => ({ ...claims, email: undefined, email_verified: true, name: 'Ada' }),
      userinfo: () => ({ sub: 'user-1', email: 'eve@evil.example' }),
    };
    assert.equal((await told(site, {})).email, undefined);
  });
});
