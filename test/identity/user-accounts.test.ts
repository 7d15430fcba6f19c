import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { testPasskeyPut } from '../support/passkey-put.ts';
import { TestWorld } from '../support/test-world.ts';

const HOUR_MS = 3_600_000;
const nowMs = Date.parse('2026-11-16T09:00:00Z');
const world = await TestWorld.open(
  { after },
  { clock: { nowMs: () => nowMs }, env: { POSTERN_IDENTITY_HOST: 'id.example.com:8443' } },
);
let people = 0;
const create = (fields: object = {}) => {
  people += 1;
  return world.api('POST', '/user_accounts', { email: `person${people}@example.com`, ...fields });
};
const LINK = /^https:\/\/id\.example\.com:8443\/invitation\?invite=postern_ui_[\w-]{43}\.[0-9a-f]{32}$/;

async function addPasskey(accountId: string, name: string): Promise<string> {
  const id = `pk_${name.padEnd(27, '0')}`;
  const { ok } = await world.store.commit({ puts: [testPasskeyPut(id, accountId, name)] });
  assert.ok(ok);
  return id;
}

suite('user accounts', () => {
  test('a new account has defaults, and a link that no later response, log, event or history repeats', async () => {
    const { status, body, text } = await create({ email: 'Ana@Example.com' });
    assert.equal(status, 201, text);
    const { id, uri, invitation_url: link } = body;
    assert.match(id, /^ua_/);
    assert.match(link, LINK);
    const read = await world.api('GET', uri);
    const wanted = { email: 'Ana@Example.com', name: '', groups: [], active: true, description: '', metadata: '' };
    for (const [name, value] of Object.entries({
      ...wanted,
      last_login_at: null,
      passkey_count: 0,
      invitation_url: null,
    }))
      assert.deepEqual(read.body[name], value, name);
    const secret = link.slice(link.indexOf('=') + 1);
    const list = await world.api('GET', '/user_accounts');
    const changes = await world.api('GET', '/changes?limit=1');
    const change = await world.api('GET', `/changes/${changes.body.changes[0].revision}`);
    for (const shown of [read.text, list.text, changes.text, change.text, world.logLines.join('\n')])
      assert.ok(!shown.includes(secret.slice(11, 40)), shown);
    assert.ok(
      !JSON.stringify(await world.store.changesSince(0)).includes(secret.slice(11, 40)),
      'the store has only a hash',
    );
  });

  for (const [name, fields, field] of [
    ['no address', { email: undefined }, '/email'],
    ['text as the address', { email: 'ana' }, '/email'],
    ['two addresses', { email: 'a@example.com,b@example.com' }, '/email'],
    ['an address with a name', { email: 'Ana <ana@example.com>' }, '/email'],
    ['an address with a line break', { email: 'a@example.com\nbcc:b@example.com' }, '/email'],
    ['an address with a Kelvin sign', { email: 'an\u212a@example.com' }, '/email'],
    ['a group twice', { groups: ['ops', 'ops'] }, '/groups'],
    ['a group with a comma', { groups: ['ops,postern-admins'] }, '/groups'],
    ['a group with a space at its end', { groups: ['ops '] }, '/groups'],
    ['a disabled account', { active: false }, '/active'],
    ['passkey_count', { passkey_count: 3 }, '/passkey_count'],
    ['invitation_url', { invitation_url: 'https://evil.example' }, '/invitation_url'],
  ] as const) {
    test(`rejects ${name}`, async () => {
      const answer = await create(fields);
      assert.equal(answer.status, 400, answer.text);
      assert.ok(answer.text.includes(`"${field}"`), answer.text);
    });
  }

  test('two people cannot have one address, in any spelling', async () => {
    const first = await create({ email: 'Bo@b\u00fccher.example' });
    for (const email of ['bo@b\u00fccher.example', 'BO@xn--bcher-kva.example', 'Bo@b\u00fccher.example.']) {
      const second = await create({ email });
      assert.ok(second.status === 409 || second.status === 400, `${email}: ${second.text}`);
    }
    const other = await create();
    assert.equal((await world.api('PATCH', other.body.uri, { email: 'bO@B\u00dcCHER.example' })).status, 409);
    assert.equal((await world.api('PATCH', first.body.uri, { email: 'bo@b\u00fccher.example' })).status, 200);
  });

  test('a new invitation ends the earlier one, and expires', async () => {
    const { body } = await create();
    const again = await world.api('POST', `${body.uri}/invite`);
    assert.equal(again.status, 200, again.text);
    assert.match(again.body.invitation_url, LINK);
    assert.notEqual(again.body.invitation_url, body.invitation_url);
    assert.equal(Date.parse(again.body.expires_at), nowMs + 72 * HOUR_MS);
    assert.equal(again.body.invitation_sent_to, null);
    const stored = world.server.replica.get('user_invitation', `${body.id}.invitation`);
    assert.deepEqual(Object.keys(stored?.doc ?? {}).sort(), [
      'created_by',
      'expires_at',
      'former_hashes',
      'inviter_scopes',
      'secret_hash',
    ]);
  });

  test('an invitation that removes passkeys removes all of them at once', async () => {
    const { body } = await create();
    await addPasskey(body.id, 'one');
    await addPasskey(body.id, 'two');
    assert.equal((await world.api('GET', body.uri)).body.passkey_count, 2);
    await world.api('POST', `${body.uri}/invite`, {});
    assert.equal((await world.api('GET', body.uri)).body.passkey_count, 2);
    assert.equal((await world.api('POST', `${body.uri}/invite`, { remove_passkeys: true })).status, 200);
    assert.equal((await world.api('GET', body.uri)).body.passkey_count, 0);
  });

  test('a disabled person has no invitation and gets none, also not after being enabled again', async () => {
    const { body } = await create();
    assert.equal((await world.api('PATCH', body.uri, { active: false })).status, 200);
    const invitation = () => world.server.replica.get('user_invitation', `${body.id}.invitation`);
    assert.equal(invitation(), undefined);
    const refused = await world.api('POST', `${body.uri}/invite`);
    assert.deepEqual([refused.status, refused.body.error_code], [409, 'ERR_POSTERN_ACCOUNT_DISABLED']);
    assert.equal((await world.api('PATCH', body.uri, { active: true })).status, 200);
    assert.equal(invitation(), undefined);
  });

  test('another address ends the invitation, which was sent to the earlier one; another spelling does not', async () => {
    const { body } = await create({ email: 'typo@exmaple.com' });
    const invitation = () => world.server.replica.get('user_invitation', `${body.id}.invitation`);
    assert.equal((await world.api('PATCH', body.uri, { email: 'Typo@EXMAPLE.com' })).status, 200);
    assert.ok(invitation());
    const changed = await world.api('PATCH', body.uri, { email: 'no-typo@example.com' });
    assert.equal(changed.status, 200, changed.text);
    assert.equal(invitation(), undefined);
    await world.api('POST', `${body.uri}/invite`);
    assert.ok(invitation());
    const undone = await world.api('POST', `/changes/${changed.headers.get('postern-revision')}/undo`);
    assert.equal(undone.status, 200, undone.text);
    assert.equal(invitation(), undefined);
  });

  test('a name is one line, which cannot reverse the text around it', async () => {
    for (const name of ['Ana\r\nClick here', 'Ana\0', 'Ana \u202Egpj', 'Ana\u2028x']) {
      const { status, text } = await create({ name });
      assert.equal(status, 400, JSON.stringify(name));
      assert.match(text, /one line/);
    }
    assert.equal((await create({ name: 'می\u200Cخواهم' })).status, 201);
  });

  test('an undo or a changeset that disables a person ends the invitation too', async () => {
    const { body } = await create();
    await world.api('PATCH', body.uri, { active: false });
    const enabled = await world.api('PATCH', body.uri, { active: true });
    await world.api('POST', `${body.uri}/invite`);
    const invitation = () => world.server.replica.get('user_invitation', `${body.id}.invitation`);
    assert.ok(invitation());
    const undone = await world.api('POST', `/changes/${enabled.headers.get('postern-revision')}/undo`);
    assert.equal(undone.status, 200, undone.text);
    assert.equal(invitation(), undefined);
    const path = `/user_accounts/${body.id}`;
    await world.api('PATCH', path, { active: true });
    await world.api('POST', `${path}/invite`);
    const operations = [{ method: 'PATCH', path, body: { active: false } }];
    assert.equal((await world.api('POST', '/changesets', { operations })).status, 200);
    assert.equal(invitation(), undefined);
  });

  test('logging out ends the invitation, and the console sessions of that person alone', async () => {
    const [one, two] = [(await create()).body, (await create()).body];
    const who = (subject: string) => ({ kind: 'person', name: 'x', subject, issuer: 'https://id.example.com:8443' });
    for (const [id, subject] of [
      ['cs_1', one.id],
      ['cs_2', two.id],
    ] as const) {
      const doc = { who: who(subject), cookieHash: id, tokenHash: id, createdAtMs: nowMs, lastUsedAtMs: nowMs };
      const put = { kind: 'console_session', id, parent: null, doc, secrets: null, uniqueKeys: [], references: [] };
      assert.ok((await world.store.commit({ puts: [put] })).ok);
    }
    assert.equal((await world.api('POST', `${one.uri}/sign_out`)).status, 204);
    const { replica } = world.server;
    assert.equal(replica.get('user_invitation', `${one.id}.invitation`), undefined);
    assert.deepEqual(
      [replica.get('console_session', 'cs_1')?.id, replica.get('console_session', 'cs_2')?.id],
      [undefined, 'cs_2'],
    );
    assert.ok(replica.get('user_invitation', `${two.id}.invitation`));
  });

  test('passkeys are listed, shown and deleted below their person only', async () => {
    const [one, two] = [(await create()).body, (await create()).body];
    const id = await addPasskey(one.id, 'laptop');
    const list = await world.api('GET', `${one.uri}/passkeys`);
    assert.deepEqual(
      list.body.passkeys.map((each: { name: string }) => each.name),
      ['laptop'],
    );
    const [shown] = list.body.passkeys;
    assert.deepEqual((await world.api('GET', shown.uri)).body, shown);
    assert.deepEqual(Object.keys(shown).sort(), [
      'backed_up',
      'created_at',
      'host',
      'id',
      'last_used_at',
      'name',
      'uri',
      'user_account',
    ]);
    assert.equal((await world.api('DELETE', `${two.uri}/passkeys/${id}`)).status, 404);
    assert.equal((await world.api('DELETE', shown.uri)).status, 204);
    assert.equal((await world.api('DELETE', shown.uri)).status, 404);
    assert.equal((await world.api('GET', one.uri)).body.passkey_count, 0);
  });

  test('a deleted person, passkey or invitation does not come back', async () => {
    const { body } = await create();
    await addPasskey(body.id, 'gone');
    const [passkey] = (await world.api('GET', `${body.uri}/passkeys`)).body.passkeys;
    const revisionOf = async (answer: Promise<{ headers: Headers }>) => (await answer).headers.get('postern-revision');
    const removed = await revisionOf(world.api('DELETE', passkey.uri));
    const invited = await revisionOf(world.api('POST', `${body.uri}/invite`));
    const deleted = await revisionOf(world.api('DELETE', body.uri));
    for (const revision of [removed, invited, deleted]) {
      const undone = await world.api('POST', `/changes/${revision}/undo`, { force: true });
      assert.deepEqual([undone.status, undone.body.error_code], [409, 'ERR_POSTERN_CANNOT_UNDO'], undone.text);
    }
    for (const kind of ['user_account', 'passkey', 'user_invitation'])
      assert.deepEqual(
        [...world.server.replica.all(kind)].filter(({ id }) => id.includes(body.id.slice(3))),
        [],
        kind,
      );
  });

  test('the edge, reserved domains and the identity host do not share names', async () => {
    for (const host of ['id.example.com', 'a.id.example.com', '*.id.example.com', 'ID.example.com']) {
      const edge = await world.api('POST', '/edges/https', { hostports: [`${host}:443`] });
      assert.deepEqual([edge.status, edge.body.error_code], [409, 'ERR_POSTERN_ALREADY_EXISTS'], edge.text);
      assert.equal((await world.api('POST', '/reserved_domains', { domain: host })).status, 409, host);
    }
    const wild = await world.api('POST', '/edges/https', { hostports: ['*.example.com:443', 'notid.example.com:443'] });
    assert.equal(wild.status, 201, wild.text);
    assert.equal((await world.api('PATCH', wild.body.uri, { hostports: ['id.example.com:443'] })).status, 409);
  });

  test('an idempotent create is not answered with the link again', async () => {
    const headers = { 'idempotency-key': 'one' };
    const body = { email: 'once@example.com' };
    const first = await world.api('POST', '/user_accounts', body, { headers });
    const second = await world.api('POST', '/user_accounts', body, { headers });
    assert.deepEqual([first.status, second.status], [201, 409]);
    assert.ok(!second.text.includes('postern_ui_'));
  });

  test('a changeset makes an account and takes it back, and a dry run shows no link', async () => {
    const operations = [
      { method: 'POST', path: '/user_accounts', body: { email: 'brief@example.com' } },
      { method: 'DELETE', path: '/user_accounts/{{results.0.id}}' },
    ];
    const dry = await world.api('POST', '/changesets', { operations: operations.slice(0, 1), dry_run: true });
    assert.equal(dry.status, 200, dry.text);
    assert.ok(!dry.text.includes('postern_ui_'), dry.text);
  });
});

test('without an identity host nobody is invited', async (t) => {
  const off = await TestWorld.open(t);
  const answer = await off.api('POST', '/user_accounts', { email: 'ana@example.com' });
  assert.deepEqual([answer.status, answer.body.error_code], [409, 'ERR_POSTERN_IDENTITY_OFF']);
  assert.deepEqual((await off.api('GET', '/user_accounts')).body.user_accounts, []);
});
