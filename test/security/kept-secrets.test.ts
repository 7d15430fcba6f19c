import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { TestWorld } from '../support/test-world.ts';

const world = await TestWorld.open({ after });
const edge = (await world.api('POST', '/edges/https', {})).body;
const route = (await world.api('POST', `/edges/https/${edge.id}/routes`, { match_type: 'path_prefix', match: '/' }))
  .body;
const oidc = `/edges/https/${edge.id}/routes/${route.id}/oidc`;
const blind = (await world.api('POST', '/api_keys', { scopes: ['edges:read', 'edges:write'] })).body.token as string;

test('a key that cannot read a client secret cannot have it sent to another issuer', async () => {
  await world.api('PUT', oidc, { issuer: 'https://good.example.com', client_id: 'app', client_secret: 'planted' });
  const moved = await world.api('PUT', oidc, { issuer: 'https://evil.example.com', client_id: 'app' }, { key: blind });
  assert.equal(moved.status, 400);
  assert.equal(moved.body.details.field, '/client_secret');
  assert.match(moved.body.msg, /sent again, because issuer changes/);
  const same = await world.api('PUT', oidc, { issuer: 'https://good.example.com', client_id: 'other' }, { key: blind });
  assert.equal(same.status, 200);
  assert.equal((await world.api('GET', oidc)).body.client_secret, 'planted');
});

test('a key that sends the secret again may change the issuer, and one that can read it may clear it', async () => {
  const body = { issuer: 'https://new.example.com', client_id: 'app', client_secret: 'another' };
  assert.equal((await world.api('PUT', oidc, body, { key: blind })).status, 200);
  const cleared = await world.api('PUT', oidc, { issuer: 'https://third.example.com', client_id: 'app' });
  assert.equal(cleared.status, 200);
  assert.equal(cleared.body.client_secret, '');
});

test('the headers of a webhook do not follow to another url', async () => {
  const headers = { 'x-api-key': 'planted' };
  const made = (
    await world.api('POST', '/event_destinations', {
      target: { webhook: { url: 'https://good.example.com/', headers } },
    })
  ).body;
  const shown = (await world.api('GET', made.uri)).body.target.webhook;
  const moved = await world.api('PATCH', made.uri, {
    target: { webhook: { ...shown, url: 'https://evil.example.com/' } },
  });
  assert.equal(moved.status, 400);
  assert.equal(moved.body.details.field, '/target/webhook/headers');
  const replaced = { url: 'https://evil.example.com/', headers: { 'x-api-key': 'other' } };
  assert.equal((await world.api('PATCH', made.uri, { target: { webhook: replaced } })).status, 200);
});

test('a mask for a header name that every object inherits does not stand for a stored one', async () => {
  const webhook = { url: 'https://good.example.com/', headers: { 'x-api-key': 'planted' } };
  const made = (await world.api('POST', '/event_destinations', { target: { webhook } })).body;
  for (const name of ['toString', 'constructor', 'hasOwnProperty']) {
    const headers = { [name]: '********' };
    const changed = await world.api('PATCH', made.uri, { target: { webhook: { ...webhook, headers } } });
    assert.equal(changed.status, 400, name);
    assert.equal(changed.body.details.field, '/target/webhook/headers');
  }
  assert.deepEqual(Object.keys((await world.api('GET', made.uri)).body.target.webhook.headers), ['x-api-key']);
});

suite('the secret headers of a route do not follow to another upstream', () => {
  type Answer = Awaited<ReturnType<typeof world.api>>;
  const SECRET = { add: { authorization: 'Bearer planted', 'x-plain': '1' } };
  const EVIL = { address: 'evil.example.com:443', tls: { enabled: true } };

  async function made(path: string, body: object) {
    const { status, body: answer } = await world.api('POST', path, body as never);
    assert.equal(status, 201, JSON.stringify(answer));
    return answer;
  }

  /** A route with a secret header, over backends of every kind that forwards. */
  async function guarded() {
    const backend = await made('/backends/static', { address: 'good.example.com:443', tls: { enabled: true } });
    const group = await made('/backends/tunnel_group', { labels: { app: 'good' } });
    const other = await made('/backends/static', EVIL);
    const weighted = await made('/backends/weighted', { backends: { [backend.id]: 1, [group.id]: 0 } });
    const failover = await made('/backends/failover', { backends: [weighted.id] });
    const { id: edgeId } = await made('/edges/https', {});
    const body = {
      match_type: 'path_prefix',
      match: '/',
      request_headers: SECRET,
      backend: { backend_id: failover.id },
    };
    const { id, uri } = await made(`/edges/https/${edgeId}/routes`, body);
    const path = new URL(uri).pathname;
    return { backend, group, other, weighted, failover, route: { id, path } };
  }

  const scopes = ['*:read', 'edges:write', 'backends:write', 'changes:write'];
  const narrow = world.api('POST', '/api_keys', { scopes }).then(({ body }) => body.token as string);
  const as = async (method: string, path: string, body?: object): Promise<Answer> =>
    world.api(method, path, body as never, { key: await narrow });

  type Guarded = Awaited<ReturnType<typeof guarded>>;
  const moves: Record<string, (on: Guarded) => Promise<Answer>> = {
    'PATCH of an address': ({ backend }) => as('PATCH', `/backends/static/${backend.id}`, { address: EVIL.address }),
    'PATCH of an address and its TLS': ({ backend }) => as('PATCH', `/backends/static/${backend.id}`, EVIL),
    'TLS that is switched off': ({ backend }) =>
      as('PATCH', `/backends/static/${backend.id}`, { tls: { enabled: false } }),
    'other labels': ({ group }) => as('PATCH', `/backends/tunnel_group/${group.id}`, { labels: { app: 'evil' } }),
    'a further member': ({ weighted, backend, other }) =>
      as('PATCH', `/backends/weighted/${weighted.id}`, { backends: { [backend.id]: 1, [other.id]: 0 } }),
    'another member of a failover': ({ failover, other }) =>
      as('PATCH', `/backends/failover/${failover.id}`, { backends: [other.id] }),
    'PUT of the backend module': ({ route, other }) =>
      as('PUT', `${route.path}/backend`, { backend_id: other.id, enabled: false }),
    'PATCH of the route': ({ route, other }) => as('PATCH', route.path, { backend: { backend_id: other.id } }),
    'PATCH with an unseen secret': ({ route, other }) =>
      as('PATCH', route.path, {
        backend: { backend_id: other.id },
        request_headers: { add: { authorization: '', 'x-plain': '2' } },
      }),
    'a module that is deleted and set': async ({ route, other }) => {
      assert.equal((await as('DELETE', `${route.path}/backend`)).status, 204);
      return as('PUT', `${route.path}/backend`, { backend_id: other.id });
    },
    'a changeset': ({ backend }) =>
      as('POST', '/changesets', {
        operations: [
          { method: 'PATCH', path: `/backends/static/${backend.id}`, body: { description: 'x' } },
          { method: 'PATCH', path: `/backends/static/${backend.id}`, body: { address: EVIL.address } },
        ],
      }),
    'the undo of a removal, after a move': async ({ route, backend }) => {
      const removed = await as('DELETE', `${route.path}/request_headers`);
      assert.equal((await as('PATCH', `/backends/static/${backend.id}`, EVIL)).status, 200);
      return as('POST', `/changes/${removed.headers.get('postern-revision')}/undo`, {});
    },
    'the undo of a deletion, after a move': async ({ route, backend }) => {
      const removed = await as('DELETE', route.path);
      assert.equal((await as('PATCH', `/backends/static/${backend.id}`, EVIL)).status, 200);
      return as('POST', `/changes/${removed.headers.get('postern-revision')}/undo`, {});
    },
    'the undo of an older move': async ({ route, backend }) => {
      await world.api('DELETE', `${route.path}/request_headers`);
      assert.equal((await as('PATCH', `/backends/static/${backend.id}`, EVIL)).status, 200);
      const back = await world.api('PATCH', `/backends/static/${backend.id}`, { address: 'good.example.com:443' });
      await world.api('PUT', `${route.path}/request_headers`, SECRET);
      return as('POST', `/changes/${back.headers.get('postern-revision')}/undo`, {});
    },
  };

  for (const [what, move] of Object.entries(moves)) {
    test(`by ${what}`, async () => {
      const on = await guarded();
      const answer = await move(on);
      assert.equal(answer.status, 403, JSON.stringify(answer.body));
      assert.equal(answer.body.details.scope, 'secrets:read');
      assert.match(answer.body.msg, new RegExp(`${on.route.id} \\(request_headers\\.add\\.authorization\\)`));
      assert.doesNotMatch(JSON.stringify(answer.body), /planted/);
    });
  }

  test('but a key that reads secrets moves it, and one that sends it again, or removes it', async () => {
    const { backend, route, other, group, weighted } = await guarded();
    const path = `/backends/static/${backend.id}`;
    assert.equal((await world.api('PATCH', path, { address: 'better.example.com:443' })).status, 200);
    assert.equal((await as('PATCH', path, { description: 'same' })).status, 200);
    // Fewer places are no other ones.
    const fewer = await as('PATCH', `/backends/weighted/${weighted.id}`, { backends: { [backend.id]: 1 } });
    assert.equal(fewer.status, 200);
    assert.equal((await as('PATCH', `/backends/tunnel_group/${group.id}`, { labels: { app: 'x' } })).status, 200);
    const both = { backend: { backend_id: other.id }, request_headers: { add: { authorization: 'mine' } } };
    assert.equal((await as('PATCH', route.path, both)).status, 200);
    assert.equal((await as('DELETE', `${route.path}/request_headers`)).status, 204);
    assert.equal((await as('PUT', `${route.path}/backend`, { backend_id: backend.id })).status, 200);
  });

  test('and headers that are no secrets, or go to visitors, hinder nobody', async () => {
    const { backend, route } = await guarded();
    await world.api('PUT', `${route.path}/request_headers`, { add: { 'x-plain': '1' } });
    await world.api('PUT', `${route.path}/response_headers`, { add: { cookie: 'planted' } });
    assert.equal((await as('PATCH', `/backends/static/${backend.id}`, EVIL)).status, 200);
  });
});
