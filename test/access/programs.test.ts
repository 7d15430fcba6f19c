import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { LoginWorld } from '../support/login-world.ts';
import { CiIssuer } from './ci-issuer.ts';
import { assertRefused, bearer, ProgramsWorld } from './programs-world.ts';

const login = await LoginWorld.open({ after });
const world = new ProgramsWorld(login);
const ci = await CiIssuer.open({ after });
const backup = await world.program('nightly backup');
const entry = { issuer: ci.issuer, audiences: ['postern'], claims: { repository: ['acme/app'] } };
const open = await world.site({ allow: [{ service_accounts: [backup.accountId] }], bearer: [entry] });

suite('a service account', () => {
  test('passes with its token, which the upstream does not see', async () => {
    const { headers } = await world.seen(open, backup.token, { headers: { 'postern-auth-kind': 'user' } });
    assert.equal(headers['authorization'], undefined);
    assert.equal(headers['postern-auth-kind'], 'service_account');
    assert.equal(headers['postern-auth-user-id'], backup.accountId);
    assert.equal(headers['postern-auth-user-name'], 'nightly backup');
  });

  test('passes where others send a password, and a failing token does not', async () => {
    const site = await world.site({ allow: [{ service_accounts: [backup.accountId] }] });
    await login.edge.api('PUT', `${site.routePath}/basic_auth`, { users: [] });
    const { headers } = await world.seen(site, backup.token);
    assert.equal(headers['postern-auth-kind'], 'service_account');
    assert.equal((await world.ask(site, `pst_${'x'.repeat(43)}`)).status, 401);
    assert.equal((await login.edge.ask(site.host, '/', { rejectUnauthorized: false })).status, 401);
  });

  test('is signed for the upstream like a person', async () => {
    const { headers } = await world.seen(open, backup.token);
    const { payload } = await assertion(String(headers['postern-auth-assertion']));
    assert.equal(payload.sub, backup.accountId);
    assert.equal(payload['kind'], 'service_account');
    assert.equal(payload['sid'], backup.tokenId);
    assert.equal(payload['name'], 'nightly backup');
  });

  test('sends the token on if the module says so', async () => {
    const site = await world.site({ allow: [{ service_accounts: [backup.accountId] }], forward_bearer: true });
    const { headers } = await world.seen(site, backup.token);
    assert.equal(headers['authorization'], `Bearer ${backup.token}`);
  });

  test('gets 403 where no rule names it', async () => {
    const other = await world.program('other');
    const answer = await world.ask(open, other.token, { headers: { accept: 'text/html' } });
    assert.equal(answer.status, 403);
    assert.match(String(answer.headers['www-authenticate']), /error="insufficient_scope"/);
    assert.equal(assertRefused(await world.ask(open, other.token), 403, 'insufficient_scope'), 'no_rule');
  });

  test('is bound by deny rules', async () => {
    const rules = [{ service_accounts: [backup.accountId] }];
    const site = await world.site({ allow: rules, deny: rules });
    assert.equal(assertRefused(await world.ask(site, backup.token), 403, 'insufficient_scope'), 'denied');
  });

  test('cannot be deleted while a rule names it', async () => {
    const used = await world.program('used');
    const site = await world.site({ allow: [{ guests: true }, { service_accounts: [used.accountId] }] });
    const path = `/service_accounts/${used.accountId}`;
    const answer = await login.edge.world.api('DELETE', path);
    assert.equal(answer.status, 409, answer.text);
    assert.match(answer.body.msg, /access module of https edge route \w+ \(allow\[1\]\.service_accounts\)/);
    await world.protect(site, { allow: [{ guests: true }] });
    assert.equal((await login.edge.world.api('DELETE', path)).status, 204);
  });

  test('has to exist before a rule names it', async () => {
    const id = 'sa_000000000000000000000000000';
    const answer = await login.edge.world.api('PUT', `${open.routePath}/access`, {
      allow: [{ service_accounts: [id] }],
    });
    assert.equal(answer.status, 400);
    assert.equal(answer.body.details.field, '/allow/0/service_accounts');
  });

  test('shows when its token was last used', async () => {
    const used = await world.program('used');
    const path = `/service_account_tokens/${used.tokenId}`;
    const etagOf = async () => (await login.edge.world.api('GET', path)).headers.get('etag');
    const etag = await etagOf();
    assert.ok(etag);
    await world.ask(open, used.token);
    const site = await world.site({ allow: [{ service_accounts: [used.accountId] }] });
    const before = Date.now();
    await world.seen(site, used.token);
    let lastUsed: string | null = null;
    while (lastUsed === null) lastUsed = (await login.edge.api('GET', path)).last_used_at;
    assert.ok(Math.abs(Date.parse(lastUsed) - before) < 60_000, lastUsed);
    const revision = login.edge.world.server.replica.revision;
    for (let count = 0; count < 20; count += 1) await world.seen(site, used.token);
    assert.equal(login.edge.world.server.replica.revision, revision, 'use is not written per request');
    assert.equal(await etagOf(), etag);
  });
});

suite('a workload', () => {
  test('passes with a token of the issuer, which the upstream does not see', async () => {
    const { headers } = await world.seen(open, await ci.token());
    assert.equal(headers['authorization'], undefined);
    assert.equal(headers['postern-auth-kind'], 'workload');
    assert.equal(headers['postern-auth-user-id'], 'repo:acme/app:ref:refs/heads/main');
    const claims = JSON.parse(Buffer.from(String(headers['postern-auth-claims']), 'base64url').toString());
    assert.equal(claims.repository, 'acme/app');
    const { payload } = await assertion(String(headers['postern-auth-assertion']));
    assert.deepEqual([payload['kind'], payload['provider']], ['workload', ci.issuer]);
  });

  test('does not pass with other claims', async () => {
    const other = await ci.token({ claims: { repository: 'acme/other' } });
    assert.equal(assertRefused(await world.ask(open, other), 403, 'insufficient_scope'), 'no_rule');
  });

  test('is not let in by rules for people', async () => {
    const site = await world.site({ allow: [{ claims: { repository: ['acme/other'] } }], bearer: [entry] });
    const other = await ci.token({ claims: { repository: 'acme/other' } });
    assertRefused(await world.ask(site, other), 403, 'insufficient_scope');
  });

  test('waits for an issuer that is down, and passes when it is back', async () => {
    const down = await CiIssuer.open({ after });
    const site = await world.site({ bearer: [{ ...entry, issuer: down.issuer }] });
    down.isDown = true;
    const answer = await world.ask(site, await down.token());
    assert.deepEqual([answer.status, answer.headers['retry-after']], [503, '5'], answer.text);
    down.isDown = false;
    login.clock.advance(6);
    assert.equal((await world.ask(site, await down.token())).status, 200);
    login.clock.reset();
  });

  test('costs one verification and no further fetch of keys while its token is valid', async () => {
    const token = await ci.token();
    await world.seen(open, token);
    const before = ci.keyFetches;
    await Promise.all(Array.from({ length: 20 }, () => world.seen(open, token)));
    assert.equal(ci.keyFetches, before);
  });
});

suite('a bearer token of the application', () => {
  test('gets 401 without a login, and never a login page', async () => {
    const navigation = { accept: 'text/html', 'sec-fetch-mode': 'navigate' };
    const withLogin = await login.site();
    const withBoth = await login.site();
    await world.protect(withBoth, { allow: [{ email_domains: ['example.com'] }], bearer: [entry] });
    for (const site of [open, withLogin, withBoth]) {
      for (const token of ['app-token', 'eyJhbGciOiJub25lIn0.e30.', await foreignToken()]) {
        const answer = await world.ask(site, token, { headers: navigation });
        assert.deepEqual([answer.status, answer.headers['location']], [401, undefined], answer.text);
        assert.equal(answer.headers['www-authenticate'], `Bearer realm="${site.host}"`);
      }
    }
  });

  test('is forwarded with a valid login', async () => {
    const site = await login.site();
    const browser = login.browser();
    await browser.logIn(site.host);
    await world.protect(site, {
      allow: [{ email_domains: ['example.com'], allow_unverified_email: true }],
      bearer: [entry],
    });
    for (const token of ['app-token', await foreignToken()]) {
      const answer = await browser.ask(site.host, '/', { headers: bearer(token) });
      assert.equal(answer.status, 200, answer.text);
      const { headers } = JSON.parse(answer.text);
      assert.deepEqual([headers.authorization, headers['postern-auth-kind']], [`Bearer ${token}`, 'user']);
    }
  });
});

suite('a token beats a cookie', () => {
  test('a failing token is refused although the browser is logged in', async () => {
    const site = await login.site();
    const browser = login.browser();
    await browser.logIn(site.host);
    await world.protect(site, {
      allow: [{ email_domains: ['example.com'], allow_unverified_email: true }],
      bearer: [entry],
    });
    assert.equal((await browser.ask(site.host, '/')).status, 200);
    const failing: readonly (readonly [string, number])[] = [
      [`pst_${'x'.repeat(43)}`, 401],
      [backup.token, 403],
      [await ci.token({ claims: { exp: 1 } }), 401],
      [await ci.token({ claims: { repository: 'acme/other' } }), 403],
    ];
    for (const [token, status] of failing) {
      const answer = await browser.ask(site.host, '/', { headers: bearer(token) });
      assert.equal(answer.status, status, answer.text);
    }
  });

  test('a valid token is the identity although the browser is logged in', async () => {
    const site = await login.site();
    const browser = login.browser();
    await browser.logIn(site.host);
    await world.protect(site, { allow: [{ service_accounts: [backup.accountId] }] });
    const answer = await browser.ask(site.host, '/', { headers: bearer(backup.token) });
    assert.equal(JSON.parse(answer.text).headers['postern-auth-user-id'], backup.accountId);
  });
});

suite('a rehearsal', () => {
  test('passes everything, and does not take a failing token for somebody', async () => {
    const other = await world.program('other');
    const site = await world.site({
      enforce: false,
      allow: [{ service_accounts: [backup.accountId] }],
      bearer: [entry],
    });
    for (const token of [backup.token, other.token, `pst_${'x'.repeat(43)}`, await ci.token({ claims: { exp: 1 } })]) {
      const { headers } = await world.seen(site, token);
      const isKnown = token === backup.token || token === other.token;
      assert.equal(headers['postern-auth-kind'], isKnown ? 'service_account' : undefined);
      assert.ok(!String(headers['authorization']).includes('pst_'));
    }
  });
});

async function foreignToken(): Promise<string> {
  const foreign = await CiIssuer.open({ after });
  return foreign.token();
}

async function assertion(token: string) {
  const site = await login.site();
  const answer = await login.edge.ask(site.host, '/.postern/jwks.json', { rejectUnauthorized: false });
  const keys = JSON.parse(answer.text);
  return jwtVerify(token, createLocalJWKSet(keys));
}
