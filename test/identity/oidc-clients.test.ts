import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { PosternClient } from '../../src/client/index.ts';
import { hashToken } from '../../src/kit/text/secrets.ts';
import { TEST_API_KEY, TestWorld } from '../support/test-world.ts';

const world = await TestWorld.open({ after }, { env: { POSTERN_IDENTITY_HOST: 'id.example.com' } });
const REDIRECT_URI = 'https://wiki.example.com/callback';
const create = (fields: object = {}) =>
  world.api('POST', '/oidc_clients', { name: 'Wiki', redirect_uris: [REDIRECT_URI], ...fields });

suite('applications in the API', () => {
  test('a secret is shown once and stored as a hash', async () => {
    const { status, body } = await create();
    assert.equal(status, 201);
    assert.match(body.client_secret, /^postern_oc_[A-Za-z0-9_-]{43}$/);
    assert.equal(body.client_id, body.id);
    const path = `/oidc_clients/${body.id}`;
    const shown = [
      await world.api('GET', path),
      await world.api('PATCH', path, { description: 'changed' }),
      await world.api('GET', '/oidc_clients'),
      await world.api('GET', '/changes'),
    ];
    for (const { text } of shown) assert.ok(!text.includes(body.client_secret) && !text.includes('secret_hash'), text);
    const record = world.server.replica.get('oidc_client', body.id);
    assert.deepEqual(record?.doc['internal'], { secret_hash: hashToken(body.client_secret) });
    assert.ok(!JSON.stringify(record).includes(body.client_secret));
    assert.ok(!world.logLines.some((line) => line.includes(body.client_secret)));
  });

  test('a public client has no secret, and stays public', async () => {
    const { body } = await create({ public: true });
    assert.equal(body.client_secret, null);
    assert.equal(world.server.replica.get('oidc_client', body.id)?.doc['internal'], undefined);
    const { status } = await world.api('PATCH', `/oidc_clients/${body.id}`, { public: false });
    assert.equal(status, 400);
  });

  test('nobody may log in unless groups are named', async () => {
    assert.deepEqual((await create()).body.allow_groups, []);
  });

  for (const field of ['redirect_uris', 'post_logout_redirect_uris', 'backchannel_logout_uri']) {
    test(`${field} takes https, http on loopback, and nothing else`, async () => {
      const given = (uri: string): object => ({ [field]: field.endsWith('s') ? [uri] : uri });
      for (const uri of ['https://a.example/cb', 'http://127.0.0.1:3000/cb', 'http://localhost/cb', 'http://[::1]/cb'])
        assert.equal((await create(given(uri))).status, 201, uri);
      for (const uri of ['http://a.example/cb', 'https://*.a.example/cb', 'https://a.example/cb#x', 'javascript:1']) {
        const { status, body } = await create(given(uri));
        assert.equal(status, 400, uri);
        assert.match(body.msg, new RegExp(field));
      }
    });
  }

  test('a deleted one does not come back by an undo', async () => {
    const { body } = await create();
    const { headers } = await world.api('DELETE', `/oidc_clients/${body.id}`);
    const { status } = await world.api('POST', `/changes/${headers.get('postern-revision')}/undo`, {});
    assert.ok(status >= 400, String(status));
    assert.equal((await world.api('GET', `/oidc_clients/${body.id}`)).status, 404);
  });

  test('the typed client creates, changes and deletes one', async () => {
    const client = new PosternClient({ baseUrl: world.baseUrl, apiKey: TEST_API_KEY });
    const made = await client.oidcClients.create({ name: 'Typed', redirect_uris: [REDIRECT_URI] });
    assert.match(made.client_secret ?? '', /^postern_oc_/);
    const changed = await client.oidcClients.update(made.id, { allow_groups: ['*'] });
    assert.deepEqual(changed.allow_groups, ['*']);
    await client.oidcClients.delete(made.id);
  });
});
