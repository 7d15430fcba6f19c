import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { TestWorld } from '../support/test-world.ts';

const YEAR_MS = 365 * 86_400_000;

const world = await TestWorld.open({ after });
const account = await created('/service_accounts', { name: 'nightly backup' });

async function created(path: string, body: object) {
  const answer = await world.api('POST', path, body);
  assert.equal(answer.status, 201, answer.text);
  return answer.body;
}

suite('service accounts', () => {
  test('are active unless the create says otherwise', async () => {
    assert.match(account.id, /^sa_[0-9A-Za-z]{27}$/);
    assert.equal(account.active, true);
    const off = await created('/service_accounts', { name: 'off', active: false });
    assert.equal(off.active, false);
    const changed = await world.api('PATCH', off.uri, { active: true });
    assert.deepEqual([changed.body.active, changed.body.name], [true, 'off']);
  });

  test('need a name of 1 to 128 characters', async () => {
    for (const name of [undefined, '', 'x'.repeat(129), 7]) {
      const answer = await world.api('POST', '/service_accounts', { name });
      assert.equal(answer.status, 400, `${name}`);
      assert.equal(answer.body.details.field, '/name');
    }
  });
});

suite('tokens of service accounts', () => {
  test('are shown once and expire after a year', async () => {
    const before = Date.now();
    const made = await created('/service_account_tokens', { service_account_id: account.id });
    assert.match(made.id, /^sat_[0-9A-Za-z]{27}$/);
    assert.match(made.token, /^pst_[A-Za-z0-9_-]{43}$/);
    assert.equal(made.service_account_id, account.id);
    assert.equal(made.last_used_at, null);
    const lifeMs = Date.parse(made.expires_at) - before;
    assert.ok(lifeMs >= YEAR_MS && lifeMs < YEAR_MS + 60_000, made.expires_at);
    for (const { text, body } of [
      await world.api('GET', made.uri),
      await world.api('PATCH', made.uri, { description: 'known' }),
      await world.api('GET', '/service_account_tokens'),
    ]) {
      assert.ok(!text.includes(made.token), 'the token is not shown again');
      assert.ok(!text.includes('hash'), 'nor its hash');
      assert.equal((body.service_account_tokens?.[0] ?? body).token, null);
    }
  });

  test('keep the time of expiry as it was sent, and change it', async () => {
    const fields = { service_account_id: account.id, expires_at: '2036-01-01T01:00:00+01:00' };
    const made = await created('/service_account_tokens', fields);
    assert.equal(made.expires_at, fields.expires_at);
    const shorter = await world.api('PATCH', made.uri, { expires_at: '2030-01-01T00:00:00Z' });
    assert.equal(shorter.body.expires_at, '2030-01-01T00:00:00Z');
    const same = await world.api('PATCH', made.uri, { expires_at: '' });
    assert.equal(same.body.expires_at, '2030-01-01T00:00:00Z', 'no token without an expiry');
    const odd = await world.api('PATCH', made.uri, { expires_at: 'never' });
    assert.deepEqual([odd.status, odd.body.details.field], [400, '/expires_at']);
  });

  test('need an account that exists', async () => {
    for (const id of ['sa_000000000000000000000000000', 'ak_000000000000000000000000000', 'x']) {
      const answer = await world.api('POST', '/service_account_tokens', { service_account_id: id });
      assert.equal(answer.status, 400);
      assert.equal(answer.body.details.field, '/service_account_id');
    }
  });

  test('are deleted with their account', async () => {
    const other = await created('/service_accounts', { name: 'short-lived' });
    const token = await created('/service_account_tokens', { service_account_id: other.id });
    assert.equal((await world.api('DELETE', other.uri)).status, 204);
    assert.equal((await world.api('GET', token.uri)).status, 404);
  });

  test('do not open this API', async () => {
    const { token } = await created('/service_account_tokens', { service_account_id: account.id });
    assert.equal((await world.api('GET', '/service_accounts', undefined, { key: token })).status, 401);
  });

  test('need their own scope', async () => {
    const { token: key } = await created('/api_keys', { scopes: ['service_accounts:write'] });
    const answer = await world.api('POST', '/service_account_tokens', { service_account_id: account.id }, { key });
    assert.equal(answer.status, 403);
    assert.equal(answer.body.details.scope, 'service_account_tokens:write');
  });
});
