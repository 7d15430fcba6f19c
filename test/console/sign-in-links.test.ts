import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { MovableClock } from '../support/login-world.ts';
import { TEST_API_KEY, TestWorld } from '../support/test-world.ts';

suite('links that sign in to the console', () => {
  test('a link works once, for ten minutes, with the rights of the key that made it', async (t) => {
    const clock = new MovableClock();
    const world = await TestWorld.open(t, { clock });
    const reader = await world.api('POST', '/api_keys', { description: 'reader', scopes: ['*:read'] });
    const made = await world.api('POST', '/console/links', undefined, { key: reader.body.token });
    assert.equal(made.status, 201, made.text);
    const link = `${world.baseUrl}${made.body.path}`;
    for (const site of ['cross-site', 'same-site']) {
      const foreign = await enter(link, { 'sec-fetch-site': site });
      assert.equal(foreign.status, 403, site);
    }
    const entered = await enter(link, { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' });
    assert.equal(entered.status, 302);
    const [, token = ''] = /^\/console\/#token=(.+)$/.exec(entered.headers.get('location') ?? '') ?? [];
    const [cookie = ''] = (entered.headers.get('set-cookie') ?? '').split(';');
    const headers = { cookie, 'postern-console-token': token };
    const session = await (await fetch(`${world.baseUrl}/console/session`, { headers })).json();
    assert.deepEqual(
      (session as { scopes: string[] }).scopes.filter((scope) => scope.endsWith(':write')),
      [],
    );
    assert.equal((await enter(link)).status, 403, 'a second time');
    const late = await world.api('POST', '/console/links', undefined, { key: reader.body.token });
    clock.advance(10 * 60_000);
    assert.equal((await enter(`${world.baseUrl}${late.body.path}`)).status, 403, 'too late');
  });

  test('a link of a deleted key opens nothing, and a session makes none', async (t) => {
    const world = await TestWorld.open(t);
    assert.equal((await world.api('POST', '/console/links', undefined, { key: null })).status, 401);
    const other = await world.api('POST', '/api_keys', { description: 'other' });
    const made = await world.api('POST', '/console/links', undefined, { key: other.body.token });
    await world.api('DELETE', `/api_keys/${other.body.id}`);
    const entered = await enter(`${world.baseUrl}${made.body.path}`);
    const [cookie = ''] = (entered.headers.get('set-cookie') ?? '').split(';');
    const [, token = ''] = /#token=(.+)$/.exec(entered.headers.get('location') ?? '') ?? [];
    const dead = await fetch(`${world.baseUrl}/console/session`, {
      headers: { cookie, 'postern-console-token': token },
    });
    assert.equal(dead.status, 401);

    const own = await world.api('POST', '/console/links', undefined, { key: TEST_API_KEY });
    const live = await enter(`${world.baseUrl}${own.body.path}`);
    const [, ownToken = ''] = /#token=(.+)$/.exec(live.headers.get('location') ?? '') ?? [];
    const session = {
      cookie: (live.headers.get('set-cookie') ?? '').split(';')[0] ?? '',
      'postern-console-token': ownToken,
      origin: world.baseUrl,
    };
    const again = await fetch(`${world.baseUrl}/console/links`, { method: 'POST', headers: session });
    assert.equal(again.status, 401);
  });

  test('no link works under a name that somebody could point at this server', async (t) => {
    const world = await TestWorld.open(t);
    const { body } = await world.api('POST', '/console/links');
    const { hostname, port } = new URL(world.baseUrl);
    const { request } = await import('node:http');
    const status = await new Promise<number>((resolve, reject) => {
      const options = { host: hostname, port, path: body.path, headers: { host: 'evil.example' } };
      request(options, (response) => resolve(response.resume().statusCode ?? 0))
        .on('error', reject)
        .end();
    });
    assert.equal(status, 403);
  });
});

function enter(link: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(link, { redirect: 'manual', headers });
}
