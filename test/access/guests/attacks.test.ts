import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, suite, test } from 'node:test';
import { codeOf, GuestWorld } from './guest-world.ts';

const world = await GuestWorld.open({ after }, { env: { POSTERN_LOGIN_ATTEMPTS_PER_ADDRESS: '30' } });
const { edge } = world.login;
const site = await world.site();

suite('attacks on guest links', () => {
  test('previews, prefetches and scanners never spend a link', async () => {
    const link = await world.invite(site);
    for (const method of ['HEAD', 'GET', 'OPTIONS', 'PUT', 'PROPFIND']) {
      for (const headers of [
        { 'user-agent': 'WhatsApp/2.24 (preview)' },
        { 'sec-purpose': 'prefetch;prerender', accept: 'text/html' },
      ]) {
        const { status } = await edge.ask(site.host, link.path, { method, headers });
        assert.equal(status, method === 'HEAD' || method === 'GET' ? 200 : 404, method);
      }
    }
    assert.deepEqual(await world.usedBy(link), []);
    await world.guest(link);
  });

  const own = world.login.origin(site.host);
  for (const [name, headers] of [
    ['another origin', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
    ['a sibling host', { origin: 'https://x.localhost', 'sec-fetch-site': 'same-site' }],
    ['a hidden origin', { origin: 'null', 'sec-fetch-site': 'cross-site' }],
    ['another origin with a forged Sec-Fetch-Site', { origin: 'https://evil.example' }],
    ['no origin that an old browser names', { origin: 'null', 'sec-fetch-site': '' }],
    ['the same host on another port', { origin: `https://${site.host}:1`, 'sec-fetch-site': 'same-site' }],
    ['the same host over plain HTTP', { origin: own.replace('https', 'http'), 'sec-fetch-site': 'cross-site' }],
  ] as const) {
    test(`a form of ${name} redeems nothing`, async () => {
      const link = await world.invite(site);
      const answer = await world.redeem(world.login.browser(), link, headers);
      assert.deepEqual([answer.status, codeOf(answer)], [403, 'ERR_POSTERN_GUEST_LINK_CROSS_SITE']);
      assert.equal(answer.headers['set-cookie'], undefined);
      assert.deepEqual(await world.usedBy(link), []);
    });
  }

  test('a program that sends neither Origin nor Sec-Fetch-Site redeems nothing', async () => {
    const { secret } = await world.invite(site);
    const answer = await edge.ask(site.host, '/.postern/guest', { method: 'POST', body: `link=${secret}` });
    assert.equal(answer.status, 403);
  });

  test('the redirect stays on the host, whatever the request names', async () => {
    const link = await world.invite(site, { max_browsers: 3 });
    const browser = world.login.browser();
    const body = `to=//evil.example&return=https://evil.example&link=${link.secret}`;
    const answer = await browser.ask(site.host, '/.postern/guest?to=//evil.example', {
      method: 'POST',
      body,
      headers: { origin: own, 'x-forwarded-host': 'evil.example', referer: 'https://evil.example/' },
    });
    assert.deepEqual([answer.status, answer.headers['location']], [303, `${own}/`]);
    const again = await browser.open(site.host, `${link.path}&to=//evil.example`);
    assert.equal(again.headers['location'], `${own}/`);
  });

  test('the secret is in no log line, event, metric or upstream request', async () => {
    const link = await world.invite(site);
    const browser = world.login.browser();
    await browser.open(site.host, link.path);
    await world.redeem(browser, link);
    const passed = await browser.open(site.host, '/');
    await edge.api('DELETE', link.uri);
    await browser.open(site.host, link.path);
    const secret = link.secret.slice(0, 40);
    const lines = edge.world.logLines.join('\n');
    assert.ok(lines.includes('/.postern/guest'), 'the path is logged');
    for (const text of [lines, passed.text, await edge.metrics()]) assert.ok(!text.includes(secret));
  });

  test('without the access module the link is not forwarded to the upstream', async () => {
    const open = await world.site();
    const link = await world.invite(open);
    for (const change of [
      () => edge.api('PUT', `${open.routePath}/access`, { enabled: false, allow: [{ guests: true }] }),
      () => edge.api('DELETE', `${open.routePath}/access`),
    ]) {
      await change();
      assert.equal((await edge.ask(open.host, '/')).status, 200);
      for (const path of [link.path, link.path.replace('.', '%2e')]) {
        const answer = await edge.ask(open.host, path);
        assert.equal(answer.status, 404, path);
        assert.ok(!answer.text.includes('"url"'), 'it did not reach the upstream');
      }
    }
  });

  test('a key that was planted in the guest’s browser does not open what the guest redeems', async () => {
    const path = await edge.route(site.edgeId, '/planted');
    await edge.api('PUT', `${path}/access`, { allow: [{ guests: true }] });
    await edge.api('PUT', `${path}/backend`, { backend_id: await edge.staticBackend(world.login.upstreamAddress) });
    const planted = { ...site, routeId: path.slice(path.lastIndexOf('/') + 1) };
    const attacker = await world.guest(await world.invite(planted));
    const victim = attacker.copy();
    assert.equal((await world.redeem(victim, await world.invite(site))).status, 303);
    assert.equal((await victim.open(site.host, '/')).status, 200);
    assert.equal((await attacker.open(site.host, '/')).status, 403);
    await edge.api('DELETE', path);
  });

  test('an upstream of the host cannot set the cookies of guests', async () => {
    const link = await world.invite(site);
    const browser = await world.guest(link);
    const cookies = (browser.jar.header(world.login.origin(site.host)) as string).split('; ');
    const upstream = createServer((_, response) => {
      response
        .setHeader('set-cookie', [...cookies.map((each) => `${each}; Path=/; Secure`), 'theirs=1'])
        .end('planted');
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => upstream.once('listening', resolve));
    const path = await edge.route(site.edgeId, '/hostile');
    const { port } = upstream.address() as AddressInfo;
    await edge.api('PUT', `${path}/backend`, { backend_id: await edge.staticBackend(`127.0.0.1:${port}`) });
    const answer = await edge.ask(site.host, '/hostile');
    upstream.close();
    upstream.closeAllConnections();
    assert.equal(answer.text, 'planted');
    assert.deepEqual(answer.headers['set-cookie'], ['theirs=1']);
    await edge.api('DELETE', path);
  });

  test('a link opens no other edge', async () => {
    const other = await world.site();
    const link = await world.invite(site);
    for (const answer of [
      await world.login.browser().open(other.host, link.path),
      await world.redeem(world.login.browser(), { ...link, host: other.host }),
    ]) {
      assert.equal(codeOf(answer), 'ERR_POSTERN_GUEST_LINK_UNKNOWN');
    }
    assert.deepEqual(await world.usedBy(link), []);
  });

  test('address rules of the route come before the link', async () => {
    const closed = await world.site();
    const link = await world.invite(closed);
    const { policyId } = await edge.ipPolicy('deny', '127.0.0.0/8');
    await edge.api('PUT', `${closed.routePath}/ip_restriction`, { ip_policy_ids: [policyId] });
    const answer = await world.redeem(world.login.browser(), link);
    assert.equal(answer.status, 403);
    assert.deepEqual(await world.usedBy(link), []);
  });

  test('guesses say no more than that they do not work, and are limited; the links of others are not', async () => {
    const link = await world.invite(site);
    const { secret } = link;
    const flipped = (at: number): string =>
      `${secret.slice(0, at)}${secret[at] === 'a' ? 'b' : 'a'}${secret.slice(at + 1)}`;
    const guesses = [
      '',
      'x',
      flipped(20),
      flipped(secret.length - 1),
      secret.slice(0, -1),
      `${secret}0`,
      `${secret}%00`,
    ];
    for (const guess of [...guesses, `${'A'.repeat(60_000)}`]) {
      const answer = await world.login.browser().open(site.host, `/.postern/guest?link=${guess}`);
      assert.ok(answer.status === 410 ? codeOf(answer) === 'ERR_POSTERN_GUEST_LINK_UNKNOWN' : answer.status >= 400);
    }
    const long = await world.redeem(world.login.browser(), { ...link, secret: 'A'.repeat(100_000) });
    assert.equal(codeOf(long), 'ERR_POSTERN_GUEST_LINK_UNKNOWN');
    let limited = await world.redeem(world.login.browser(), { ...link, secret: flipped(20) });
    for (let tries = 0; limited.status !== 429; tries += 1) {
      assert.ok(tries < 100, 'guesses are limited');
      limited = await world.redeem(world.login.browser(), { ...link, secret: flipped(20) });
    }
    assert.ok(Number(limited.headers['retry-after']) > 0);
    assert.match(limited.text, /Too many/);
    await world.guest(link);
  });
});
