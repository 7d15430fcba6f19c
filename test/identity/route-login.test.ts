import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { HostBrowser, IDENTITY_HOST, IDENTITY_ISSUER, openWithoutProof } from './without-proof.ts';

const world = await openWithoutProof({ after });

test('a route with our issuer and no client lets a person in who logs in at the identity host', async () => {
  const site = await world.site();
  const { body } = await world.edge.world.api('GET', `${site.routePath}/oidc`);
  assert.deepEqual([body.client_id, body.client_secret, body.scopes], ['', '', []]);
  const ana = await world.account('ana@example.com', ['ops']);
  const browser = new HostBrowser(world.edge);
  const page = await browser.open(`https://${site.host}/page?x=1`, ana);
  assert.equal(page.status, 200, page.text);
  const { url, headers } = JSON.parse(page.text);
  assert.equal(url, '/page?x=1');
  assert.equal(headers['postern-auth-user-email'], 'ana@example.com');
  const claims = JSON.parse(Buffer.from(headers['postern-auth-claims'], 'base64url').toString());
  assert.deepEqual([claims.sub, claims.groups, claims.amr], [ana, ['ops'], ['pop']]);

  // One passkey, two hosts: the session at the identity host is enough.
  const other = await world.site();
  assert.equal((await browser.open(`https://${other.host}/`, null)).status, 200);
  await assert.rejects(new HostBrowser(world.edge).open(`https://${other.host}/`, null), /a proof is asked for/);
});

test('a client of an edge returns to no other host, path or port', async () => {
  const [site, other] = [await world.site(), await world.site()];
  const ana = await world.account('ana-2@example.com');
  const browser = new HostBrowser(world.edge);
  await browser.open(`https://${site.host}/`, ana);
  const start = await browser.ask(`https://${site.host}/.postern/login?to=/new&go=1&switch=1`);
  const asked = new URL(String(start.headers['location']));
  assert.equal(asked.host, IDENTITY_HOST);
  assert.equal(asked.searchParams.get('client_id'), site.edgeId);
  asked.searchParams.delete('prompt');
  const wanted = asked.searchParams.get('redirect_uri') ?? '';
  for (const uri of [
    wanted.replace(site.host, other.host),
    wanted.replace(site.host, 'evil.example'),
    wanted.replace('/callback', '/callback/'),
    wanted.replace('/callback', '/logout/done'),
    wanted.replace(site.host, `${site.host}:9999`),
    wanted.replace('https:', 'http:'),
    `${wanted}?x=1`,
    `${wanted}#x`,
    wanted.replace('https://', 'https://user@'),
    wanted.replace(site.host, site.host.toUpperCase()),
    `${IDENTITY_ISSUER}/.postern/callback`,
  ]) {
    asked.searchParams.set('redirect_uri', uri);
    const { status, headers } = await browser.ask(asked);
    // The last one stands for no address at all: it leads to nothing, on our own host.
    const isHarmless = uri.startsWith(IDENTITY_ISSUER);
    if (!isHarmless) assert.deepEqual([status, headers['location']], [400, undefined], uri);
  }
  asked.searchParams.set('redirect_uri', wanted);
  const { headers } = await browser.ask(asked);
  assert.ok(String(headers['location']).startsWith(`${wanted}?code=`), String(headers['location']));
});

suite('the end of a person', () => {
  for (const [name, end] of [
    ['disabling', (id: string) => world.edge.api('PATCH', `/user_accounts/${id}`, { active: false })],
    ['deleting', (id: string) => world.edge.api('DELETE', `/user_accounts/${id}`)],
    ['logging out', (id: string) => world.edge.api('POST', `/user_accounts/${id}/sign_out`, {})],
  ] as const) {
    test(`${name} ends their logins and streams within a second, and nobody else's`, async () => {
      const site = await world.site();
      const [ana, ben] = [
        await world.account(`ana-${name.length}@ex.com`),
        await world.account(`ben-${name.length}@ex.com`),
      ];
      const [hers, his] = [new HostBrowser(world.edge), new HostBrowser(world.edge)];
      await hers.open(`https://${site.host}/`, ana);
      await his.open(`https://${site.host}/`, ben);
      const stream = await openStream(hers, site.host);
      await end(ana);
      const startedAt = performance.now();
      await stream.ended;
      assert.ok(performance.now() - startedAt < 1_500, `${performance.now() - startedAt} ms`);
      await assert.rejects(hers.open(`https://${site.host}/`, null), /a proof is asked for/);
      assert.equal((await his.open(`https://${site.host}/`, null)).status, 200);
    });
  }
});

test('changed groups reach a running login and its streams within a second', async () => {
  const site = await world.site();
  await world.edge.api('PUT', `${site.routePath}/access`, { allow: [{ claims: { groups: ['ops'] } }] });
  const ana = await world.account('ana-groups@example.com', ['ops']);
  const browser = new HostBrowser(world.edge);
  assert.equal((await browser.open(`https://${site.host}/`, ana)).status, 200);
  const stream = await openStream(browser, site.host);
  await world.edge.api('PATCH', `/user_accounts/${ana}`, { groups: ['sales'] });
  assert.equal((await browser.ask(`https://${site.host}/`)).status, 403);
  const startedAt = performance.now();
  await stream.ended;
  assert.ok(performance.now() - startedAt < 1_500);
  await world.edge.api('PATCH', `/user_accounts/${ana}`, { groups: ['ops'], email: 'renamed@example.com' });
  const page = await browser.ask(`https://${site.host}/`);
  assert.equal(page.status, 200);
  assert.equal(JSON.parse(page.text).headers['postern-auth-user-email'], 'renamed@example.com');
});

test('logging out at the identity host ends the logins on routes', async () => {
  const site = await world.site();
  const ana = await world.account('ana-out@example.com');
  const browser = new HostBrowser(world.edge);
  await browser.open(`https://${site.host}/`, ana);
  const left = await browser.ask(`https://${site.host}/.postern/logout`, {
    headers: { 'sec-fetch-site': 'same-origin' },
  });
  const out = await browser.open(String(left.headers['location']), null);
  const action = /action="([^"]+)"/.exec(out.text)?.[1] ?? '';
  const xsrf = /name="xsrf" value="([^"]+)"/.exec(out.text)?.[1] ?? '';
  assert.equal(new URL(action, out.url).host, IDENTITY_HOST, out.text);
  const other = await world.site();
  await browser.open(`https://${other.host}/`, null);
  const done = await browser.ask(new URL(action, out.url), {
    method: 'POST',
    body: `xsrf=${xsrf}&logout=yes`,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
  assert.equal(done.headers['location'], `https://${site.host}/.postern/logout/done`);
  await assert.rejects(browser.open(`https://${other.host}/`, null), /a proof is asked for/);
});

suite('the identity host', () => {
  test('other spellings of its issuer are refused', async () => {
    const site = await world.site();
    for (const issuer of [
      `${IDENTITY_ISSUER}/`,
      `${IDENTITY_ISSUER}:443`,
      'https://ID.localhost',
      `http://${IDENTITY_HOST}`,
    ]) {
      const answer = await world.edge.world.api('PUT', `${site.routePath}/oidc`, { issuer });
      assert.equal(answer.status, 400, issuer);
      assert.match(answer.text, /must be exactly/);
    }
  });

  test('a body over 64 KB is refused', async () => {
    const url = `${IDENTITY_ISSUER}/token`;
    const small = await new HostBrowser(world.edge).ask(url, { method: 'POST', body: 'x'.repeat(65_536) });
    assert.notEqual(small.status, 413);
    const large = await new HostBrowser(world.edge).ask(url, { method: 'POST', body: 'x'.repeat(65_537) });
    assert.equal(large.status, 413);
  });

  test('no wildcard and no other host reaches it, and it reaches no other', async () => {
    const wildcard = await world.edge.edge('*.localhost');
    const route = await world.edge.route(wildcard, '/');
    await world.edge.api('PUT', `${route}/backend`, { backend_id: await world.edge.httpResponse('wildcard') });
    const own = await new HostBrowser(world.edge).ask(`${IDENTITY_ISSUER}/.well-known/openid-configuration`);
    assert.equal(JSON.parse(own.text).issuer, IDENTITY_ISSUER);
    const forged = await new HostBrowser(world.edge).ask(`${IDENTITY_ISSUER}/jwks`, {
      headers: { host: 'else.localhost' },
    });
    assert.equal(forged.status, 421);
    const crossed = await world.edge.ask('else.localhost', '/jwks', { headers: { host: IDENTITY_HOST } });
    assert.equal(crossed.status, 421);
    await world.edge.api('DELETE', `/edges/https/${wildcard}`);
  });

  test('answers over HTTP/2 with several cookies', async () => {
    const session = await world.edge.http2(IDENTITY_HOST);
    const stream = session.request({ ':path': '/auth?client_id=none', accept: 'text/html' });
    const headers = await new Promise<Record<string, unknown>>((resolve) => {
      stream.once('response', (answer) => resolve(answer));
    });
    assert.equal(headers[':status'], 400);
    session.destroy();
  });
});

interface OpenStream {
  readonly ended: Promise<void>;
}

/** Resolves when the first bytes have come. */
async function openStream(browser: HostBrowser, host: string): Promise<OpenStream> {
  const socket = await world.edge.connect(host);
  const cookie = browser.jar.header(`https://${host}/`) ?? '';
  socket.write(`GET /stream HTTP/1.1\r\nHost: ${host}\r\nCookie: ${cookie}\r\n\r\n`);
  const ended = new Promise<void>((resolve, reject) => {
    socket.once('close', () => resolve());
    setTimeout(() => reject(new Error('the stream goes on')), 10_000).unref();
  });
  await new Promise<void>((resolve, reject) => {
    socket.on('data', (chunk: Buffer) => (chunk.includes('tick') ? resolve() : undefined));
    socket.once('close', () => reject(new Error('the stream was refused')));
  });
  return { ended };
}
