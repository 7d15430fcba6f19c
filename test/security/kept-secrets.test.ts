import assert from 'node:assert/strict';
import { after, test } from 'node:test';
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
