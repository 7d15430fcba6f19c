import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { WebSocketServer } from 'ws';
import { openWebSocket } from '../../support/edge-websocket.ts';
import { codeOf, GuestWorld } from './guest-world.ts';

const world = await GuestWorld.open({ after });
const { edge, clock } = world.login;
const site = await world.site();

suite('guests', () => {
  test('the link opens a page, its button binds the browser, and the route then knows the guest', async () => {
    const link = await world.invite(site, { label: 'Ana', email: 'ana@partner.example' });
    const browser = world.login.browser();
    assert.equal((await browser.open(site.host)).status, 403, 'before');
    const page = await browser.open(site.host, link.path);
    assert.equal(page.status, 200);
    assert.match(page.text, /<form method="post" action="\/\.postern\/guest">/);
    assert.doesNotMatch(page.text, /Ana|partner\.example/, 'label and e-mail are for the operator');
    assert.equal(page.headers['set-cookie'], undefined, 'opening it changes nothing');
    assert.equal(page.headers['cache-control'], 'no-store');
    assert.equal(page.headers['referrer-policy'], 'no-referrer');
    assert.match(String(page.headers['content-security-policy']), /default-src 'none'.*frame-ancestors 'none'/);

    const redeemed = await world.redeem(browser, link);
    assert.equal(redeemed.status, 303);
    assert.equal(redeemed.headers['location'], `${world.login.origin(site.host)}/`);
    assert.equal(redeemed.headers['referrer-policy'], 'no-referrer');
    for (const cookie of redeemed.headers['set-cookie'] ?? []) assert.match(cookie, /Secure; HttpOnly; SameSite=Lax/);

    const spoofed = { 'postern-auth-user-email': 'boss@example.com', 'postern-auth-kind': 'user' };
    const passed = await browser.open(site.host, '/reports?year=2026', { headers: spoofed });
    assert.equal(passed.status, 200);
    const { url, headers } = JSON.parse(passed.text);
    assert.equal(url, '/reports?year=2026');
    assert.equal(headers['postern-auth-kind'], 'guest');
    assert.equal(headers['postern-auth-user-id'], link.id);
    assert.equal(headers['postern-auth-user-email'], undefined);
    const assertion = JSON.parse(Buffer.from(headers['postern-auth-assertion'].split('.')[1], 'base64url').toString());
    assert.deepEqual([assertion.kind, assertion.sub, assertion.email], ['guest', link.id, undefined]);
    assert.doesNotMatch(passed.text, /partner\.example|pstn1\.|postern_gl_/);
    assert.equal((await browser.ask(site.host, '/.postern/jwks.json')).status, 200, 'the upstream can verify it');

    const [use, ...others] = await world.usedBy(link);
    assert.deepEqual(others, []);
    assert.deepEqual(
      { ...use, session: '', at: '' },
      { session: '', at: '', ip_address: '127.0.0.1', user_agent: 'test browser' },
    );
    const session = await edge.api('GET', `/app/sessions/${use?.session}`);
    assert.equal(session.route.id, site.routeId);
    const limit = Date.parse((await edge.api('GET', link.uri)).expires_at);
    assert.ok(Math.abs(Date.parse(session.expires_at) - limit) <= 1000, session.expires_at);
  });

  test('the same browser may open the link again, another may not', async () => {
    const link = await world.invite(site);
    const browser = await world.guest(link);
    const again = await browser.open(site.host, link.path);
    assert.deepEqual([again.status, again.headers['location']], [303, `${world.login.origin(site.host)}/`]);
    assert.equal((await world.redeem(browser, link)).status, 303);
    assert.equal((await world.usedBy(link)).length, 1);
    const other = world.login.browser();
    for (const answer of [await other.open(site.host, link.path), await world.redeem(other, link)]) {
      assert.deepEqual([answer.status, codeOf(answer)], [410, 'ERR_POSTERN_GUEST_LINK_SPENT']);
      assert.match(answer.text, /already used/);
    }
    assert.equal((await browser.open(site.host)).status, 200);
  });

  test('max_browsers can be raised later', async () => {
    const link = await world.invite(site);
    await world.guest(link);
    await edge.api('PATCH', link.uri, { max_browsers: 2 });
    await world.guest(link);
    assert.equal(codeOf(await world.redeem(world.login.browser(), link)), 'ERR_POSTERN_GUEST_LINK_SPENT');
    assert.equal((await world.usedBy(link)).length, 2);
  });

  test('a link leads to the start of its route, and opens no other route', async () => {
    const path = await edge.route(site.edgeId, '/team');
    await edge.api('PUT', `${path}/access`, { allow: [{ guests: true }] });
    await edge.api('PUT', `${path}/backend`, { backend_id: await edge.staticBackend(world.login.upstreamAddress) });
    const team = { ...site, routeId: path.slice(path.lastIndexOf('/') + 1) };
    const link = await world.invite(team);
    const browser = world.login.browser();
    const redeemed = await world.redeem(browser, link);
    assert.equal(redeemed.headers['location'], `${world.login.origin(site.host)}/team`);
    assert.equal((await browser.open(site.host, '/team/x')).status, 200);
    assert.equal((await browser.open(site.host, '/')).status, 403);
    // One browser can be the guest of several routes.
    await world.redeem(browser, await world.invite(site));
    assert.equal((await browser.open(site.host, '/')).status, 200);
    assert.equal((await browser.open(site.host, '/team')).status, 200);
    await edge.api('DELETE', path);
  });

  test('a link opens one host of its edge', async () => {
    const hosts = ['one-host.localhost', 'other-host.localhost'];
    const edgeId = await edge.edge(...hosts);
    const path = await edge.route(edgeId, '/');
    await edge.api('PUT', `${path}/access`, { allow: [{ guests: true }] });
    await edge.api('PUT', `${path}/backend`, { backend_id: await edge.staticBackend(world.login.upstreamAddress) });
    const place = { ...site, edgeId, routeId: path.slice(path.lastIndexOf('/') + 1) };
    const link = await world.invite(place, { host: hosts[0] });
    const elsewhere = await world.redeem(world.login.browser(), { ...link, host: hosts[1] as string });
    assert.equal(codeOf(elsewhere), 'ERR_POSTERN_GUEST_LINK_UNKNOWN');
    const browser = await world.guest(link);
    assert.equal((await browser.open(hosts[0] as string)).status, 200);
    const cookie = browser.jar.header(world.login.origin(hosts[0] as string)) as string;
    assert.equal((await edge.ask(hosts[1] as string, '/', { headers: { cookie } })).status, 403);
  });

  for (const [name, rules, status] of [
    ['no rule for guests refuses them', { allow: [{ email_domains: ['partner.example'] }] }, 403],
    ['the link’s e-mail matches no rule', { allow: [{ emails: ['ana@partner.example'] }] }, 403],
    ['a deny rule binds guests too', { allow: [{ guests: true }], deny: [{ guests: true }] }, 403],
    ['a rehearsed refusal passes', { enforce: false, allow: [] }, 200],
  ] as const) {
    test(name, async () => {
      const ruled = await world.site(rules);
      const browser = await world.guest(await world.invite(ruled, { email: 'ana@partner.example' }));
      const answer = await browser.open(ruled.host);
      assert.equal(answer.status, status, answer.text);
    });
  }

  test('an expired link says so, and so does one that was deleted', async () => {
    const [expired, deleted, ofRoute] = [
      await world.invite(site, { expires_at: world.inDays(1) }),
      await world.invite(site),
      await world.invite(site, { expires_at: world.inDays(3) }),
    ];
    await edge.api('DELETE', deleted.uri);
    clock.advance(2 * 86_400);
    for (const [link, code, says] of [
      [expired, 'ERR_POSTERN_GUEST_LINK_EXPIRED', /has expired/],
      [deleted, 'ERR_POSTERN_GUEST_LINK_REVOKED', /was revoked/],
    ] as const) {
      const browser = world.login.browser();
      for (const answer of [await browser.open(site.host, link.path), await world.redeem(browser, link)]) {
        assert.deepEqual([answer.status, codeOf(answer)], [410, code]);
        assert.match(answer.text, says);
        assert.equal(answer.headers['referrer-policy'], 'no-referrer');
        assert.ok(!answer.text.includes(link.secret));
      }
    }
    assert.equal((await world.login.browser().open(site.host, ofRoute.path)).status, 200);
    clock.reset();
  });

  test('a link is revoked with its route', async () => {
    const path = await edge.route(site.edgeId, '/gone');
    await edge.api('PUT', `${path}/access`, { allow: [{ guests: true }] });
    const link = await world.invite({ ...site, routeId: path.slice(path.lastIndexOf('/') + 1) });
    await edge.api('DELETE', path);
    const answer = await world.login.browser().open(site.host, link.path);
    assert.equal(codeOf(answer), 'ERR_POSTERN_GUEST_LINK_REVOKED');
  });

  test('a route with a login admits guests beside people', async () => {
    const both = await world.site({ allow: [{ guests: true }, { emails: ['alice@example.com'] }] });
    await world.login.protect(both);
    const guest = await world.guest(await world.invite(both));
    const { headers } = JSON.parse((await guest.open(both.host)).text);
    assert.equal(headers['postern-auth-kind'], 'guest');
    assert.equal((await world.login.browser().open(both.host)).status, 302, 'others log in');
    const person = world.login.browser();
    const page = await person.logIn(both.host);
    assert.equal(JSON.parse(page.text).headers['postern-auth-kind'], 'user');
    // The guest logs in as well: one browser, one key, both logins.
    await guest.logIn(both.host, '/');
    assert.equal((await guest.open(both.host)).status, 200);
  });

  test('a route with passwords admits guests beside its users, and a guest who guesses stays a guest', async () => {
    const both = await world.site({ allow: [{ guests: true }, { claims: { username: ['ana'] } }] });
    await edge.api('PUT', `${both.routePath}/basic_auth`, { users: [{ username: 'ana', password: 'open sesame' }] });
    const guest = await world.guest(await world.invite(both));
    const sent = async (password: string | null): Promise<unknown> => {
      const value = `Basic ${Buffer.from(`ana:${password}`).toString('base64')}`;
      const answer = await guest.open(both.host, '/', { headers: password === null ? {} : { authorization: value } });
      const { headers } = JSON.parse(answer.text);
      assert.equal(headers.authorization, undefined, 'no password is forwarded, not even a wrong one');
      return headers['postern-auth-kind'];
    };
    assert.deepEqual(
      [await sent(null), await sent('open sesame'), await sent('open says me')],
      ['guest', 'user', 'guest'],
    );
    assert.equal((await world.login.browser().open(both.host)).status, 401, 'others send a password');
  });

  test('deleting the session ends the guest, and the link stays spent', async () => {
    const link = await world.invite(site);
    const browser = await world.guest(link);
    const [use] = await world.usedBy(link);
    await edge.api('DELETE', `/app/sessions/${use?.session}`);
    assert.equal((await browser.open(site.host)).status, 403);
    assert.equal(codeOf(await browser.open(site.host, link.path)), 'ERR_POSTERN_GUEST_LINK_SPENT');
    assert.equal((await world.usedBy(link)).length, 1, 'who used it stays on record');
  });

  test('deleting the link ends the sessions of its guests', async () => {
    const link = await world.invite(site);
    const browser = await world.guest(link);
    const [use] = await world.usedBy(link);
    await edge.api('DELETE', link.uri);
    assert.equal((await browser.open(site.host)).status, 403);
    assert.equal(codeOf(await browser.open(site.host, link.path)), 'ERR_POSTERN_GUEST_LINK_REVOKED');
    while ((await world.sessionIds()).includes(use?.session ?? '')) await new Promise(setImmediate);
  });

  test('a longer link keeps its guests, a shorter one ends them', async () => {
    const link = await world.invite(site, { expires_at: world.inDays(1) });
    const browser = await world.guest(link);
    await edge.api('PATCH', link.uri, { expires_at: world.inDays(5) });
    clock.advance(2 * 86_400);
    assert.equal((await browser.open(site.host)).status, 200, 'extended');
    clock.advance(4 * 86_400);
    assert.equal((await browser.open(site.host)).status, 403, 'over');
    clock.reset();
  });

  test('a guest can log out', async () => {
    const browser = await world.guest(await world.invite(site));
    const answer = await browser.ask(site.host, '/.postern/logout', {
      method: 'POST',
      headers: { origin: world.login.origin(site.host), 'sec-fetch-site': 'same-origin' },
    });
    assert.ok(answer.status < 400, answer.text);
    assert.equal((await browser.open(site.host)).status, 403);
  });
});

suite('a browser that is both a guest and logged in', () => {
  const ALICE = { emails: ['alice@example.com'] };
  const GUESTS = { guests: true };

  /** Kind and id that the upstream sees, or the status of a refusal. */
  async function both(user: string, rules: object) {
    const place = await world.site(rules);
    await world.login.protect(place);
    const link = await world.invite(place);
    const browser = world.login.browser();
    await browser.logIn(place.host, '/', user);
    assert.equal((await world.redeem(browser, link)).status, 303);
    const seen = async (): Promise<unknown> => {
      const answer = await browser.open(place.host);
      return answer.status === 200 ? JSON.parse(answer.text).headers['postern-auth-kind'] : answer.status;
    };
    const change = (access: object) => edge.api('PUT', `${place.routePath}/access`, access);
    return { place, browser, link, seen, change };
  }

  test('passes as the person where the rules let them in', async () => {
    const { seen, change } = await both('alice', { allow: [ALICE, GUESTS] });
    assert.equal(await seen(), 'user');
    await change({ allow: [ALICE] });
    assert.equal(await seen(), 'user', 'a link costs nobody their rights');
  });

  test('passes as the guest where they do not, unless a rule denies the person', async () => {
    const { seen, change, browser, place } = await both('bob', { allow: [ALICE, GUESTS] });
    assert.equal(await seen(), 'guest');
    await change({ allow: [ALICE, GUESTS], deny: [{ emails: ['bob@example.com'] }] });
    assert.equal(await seen(), 403);
    await change({ allow: [ALICE, GUESTS], deny: [GUESTS] });
    assert.equal(await seen(), 403);
    await change({ allow: [GUESTS], enforce: false });
    assert.equal(await seen(), 'user', 'a rehearsal changes nothing');
    await change({ allow: [GUESTS] });
    assert.equal(await seen(), 'guest');
    await browser.ask(place.host, '/.postern/logout', {
      method: 'POST',
      headers: { 'sec-fetch-site': 'same-origin' },
    });
    assert.notEqual(await seen(), 'user', 'logged out');
  });

  test('loses a stream that it could continue only as the other', async () => {
    new WebSocketServer({ server: world.login.upstream }).on('connection', (socket) => socket.send('first'));
    const { place, browser, seen, change } = await both('alice', { allow: [ALICE, GUESTS] });
    const socket = await openWebSocket(world.login, browser, place.host);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    await change({ allow: [GUESTS, ALICE] });
    assert.equal(socket.readyState, socket.OPEN);
    await change({ allow: [GUESTS] });
    await closed;
    assert.equal(await seen(), 'guest');
  });
});
