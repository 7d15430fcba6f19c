import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { testPasskeyPut } from '../support/passkey-put.ts';
import { type ApiAnswer, TestWorld } from '../support/test-world.ts';

const world = await TestWorld.open(
  { after },
  {
    env: {
      POSTERN_IDENTITY_HOST: 'id.example.com',
      POSTERN_CONSOLE_ROLES: 'admin=groups:bosses,operator=email:op@example.com,viewer=groups:readers',
    },
  },
);
const ok = async (method: string, path: string, body?: object): Promise<ApiAnswer> => {
  const answer = await world.api(method, path, body);
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
  return answer;
};
const keyWith = async (...scopes: string[]): Promise<string> => (await ok('POST', '/api_keys', { scopes })).body.token;

/** May manage people, and undo and group changes, and nothing else. */
const helpdesk = await keyWith('user_accounts:read', 'user_accounts:write', 'changes:read', 'changes:write');
const readingHelpdesk = await keyWith('*:read', 'user_accounts:write');
const attempt = (method: string, path: string, body?: object, key = helpdesk) => world.api(method, path, body, { key });

let count = 0;
const person = async (fields: object = {}): Promise<string> => {
  count += 1;
  return (await ok('POST', '/user_accounts', { email: `p${count}@example.com`, ...fields })).body.id;
};
async function withPasskey(accountId: string): Promise<string> {
  count += 1;
  const id = `pk_${String(count).padStart(27, '0')}`;
  assert.ok((await world.store.commit({ puts: [testPasskeyPut(id, accountId)] })).ok);
  return id;
}
const isForbidden = ({ status, text }: ApiAnswer): void => assert.equal(status, 403, text);

suite('nobody manages people who may do more', () => {
  for (const [role, fields] of [
    ['an administrator', { groups: ['bosses'] }],
    ['an operator, by the address', { email: 'OP@example.com' }],
    ['a viewer', { groups: ['readers'] }],
  ] as const) {
    test(`creates ${role}`, async () => {
      isForbidden(await attempt('POST', '/user_accounts', { email: 'new@example.com', ...fields }));
      const operations = [{ method: 'POST', path: '/user_accounts', body: { email: 'new@example.com', ...fields } }];
      isForbidden(await attempt('POST', '/changesets', { operations }));
    });

    test(`makes somebody ${role}`, async () => {
      const path = `/user_accounts/${await person()}`;
      isForbidden(await attempt('PATCH', path, fields));
      isForbidden(await attempt('PATCH', path, { ...fields, active: false }));
      isForbidden(await attempt('POST', '/changesets', { operations: [{ method: 'PATCH', path, body: fields }] }));
    });
  }

  test('changes, renames, disables, demotes, invites, logs out or deletes an administrator, or removes a passkey', async () => {
    const id = await person({ groups: ['bosses'] });
    const passkey = await withPasskey(id);
    const path = `/user_accounts/${id}`;
    for (const body of [
      { groups: [] },
      { active: false },
      { name: 'x' },
      { email: 'eve@evil.example' },
      { description: 'x' },
    ])
      isForbidden(await attempt('PATCH', path, body));
    isForbidden(await attempt('POST', `${path}/invite`));
    isForbidden(await attempt('POST', `${path}/invite`, { remove_passkeys: true }));
    isForbidden(await attempt('POST', `${path}/sign_out`));
    isForbidden(await attempt('DELETE', `${path}/passkeys/${passkey}`));
    isForbidden(await attempt('DELETE', path));
    isForbidden(await attempt('POST', '/changesets', { operations: [{ method: 'DELETE', path }] }));
    const { body } = await ok('GET', path);
    assert.deepEqual([body.active, body.passkey_count, body.groups], [true, 1, ['bosses']]);
  });

  test('touches a disabled administrator', async () => {
    const path = `/user_accounts/${await person({ groups: ['bosses'] })}`;
    await ok('PATCH', path, { active: false });
    for (const body of [{ active: true }, { groups: [] }, { email: 'eve@evil.example' }])
      isForbidden(await attempt('PATCH', path, body));
    isForbidden(await attempt('DELETE', path));
  });

  test('undoes what made an administrator a person without a role, or the reverse', async () => {
    const path = `/user_accounts/${await person({ groups: ['bosses'] })}`;
    const demoted = (await ok('PATCH', path, { groups: [] })).headers.get('postern-revision');
    isForbidden(await attempt('POST', `/changes/${demoted}/undo`));
    isForbidden(await attempt('POST', `/changes/${demoted}/undo`, { force: true }));
    const promoted = (await ok('PATCH', path, { groups: ['bosses'] })).headers.get('postern-revision');
    isForbidden(await attempt('POST', `/changes/${promoted}/undo`));
    const created = (await ok('GET', `/changes?object_id=${path.split('/')[2]}`)).body.changes.at(-1).revision;
    isForbidden(await attempt('POST', `/changes/${created}/undo`, { force: true }));
    assert.deepEqual((await ok('GET', path)).body.groups, ['bosses']);
  });

  test('sees or undoes changes of people without their scopes', async () => {
    const id = await person();
    const { headers } = await ok('POST', `/user_accounts/${id}/invite`);
    const key = await keyWith('changes:read', 'changes:write', 'edges:write');
    const revision = headers.get('postern-revision');
    isForbidden(await attempt('GET', `/changes/${revision}`, undefined, key));
    isForbidden(await attempt('POST', `/changes/${revision}/undo`, {}, key));
    const listed = await attempt('GET', `/changes?object_id=${id}`, undefined, key);
    assert.deepEqual(listed.body.changes, []);
  });
});

suite('who may manage people', () => {
  test('a key with the scopes manages people without a role', async () => {
    const made = await attempt('POST', '/user_accounts', { email: 'plain@example.com', groups: ['ops'] });
    assert.equal(made.status, 201, made.text);
    const path = `/user_accounts/${made.body.id}`;
    const passkey = await withPasskey(made.body.id);
    assert.equal((await attempt('POST', `${path}/invite`)).status, 200);
    assert.equal((await attempt('DELETE', `${path}/passkeys/${passkey}`)).status, 204);
    assert.equal((await attempt('POST', `${path}/sign_out`)).status, 204);
    assert.equal((await attempt('PATCH', path, { active: false })).status, 200);
    assert.equal((await attempt('DELETE', path)).status, 204);
  });

  test('a key that reads everything manages viewers, and no operator', async () => {
    const made = await attempt(
      'POST',
      '/user_accounts',
      { email: 'v@example.com', groups: ['readers'] },
      readingHelpdesk,
    );
    assert.equal(made.status, 201, made.text);
    isForbidden(await attempt('PATCH', `/user_accounts/${made.body.id}`, { email: 'op@example.com' }, readingHelpdesk));
  });

  test('a key without the scope manages nobody', async () => {
    const key = await keyWith('*:read', 'edges:write', 'service_accounts:write');
    const id = await person();
    isForbidden(await attempt('POST', '/user_accounts', { email: 'x@example.com' }, key));
    isForbidden(await attempt('POST', `/user_accounts/${id}/invite`, {}, key));
    isForbidden(await attempt('DELETE', `/user_accounts/${id}`, undefined, key));
  });
});

test('without console_roles, the group postern-admins makes administrators', async (t) => {
  const plain = await TestWorld.open(t, { env: { POSTERN_IDENTITY_HOST: 'id.example.com' } });
  const { body } = await plain.api('POST', '/api_keys', { scopes: ['*:read', 'user_accounts:write'] });
  const create = (groups: string[]) =>
    plain.api('POST', '/user_accounts', { email: 'a@example.com', groups }, { key: body.token });
  assert.equal((await create(['postern-admins'])).status, 403);
  assert.equal((await create(['Postern-Admins'])).status, 201);
});
