import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { recordingUpstream } from '../../edge/traffic/recording-upstream.ts';
import { LoginWorld } from '../../support/login-world.ts';

/** A provider whose users choose their own names. */
const world = await LoginWorld.open({ after });
const upstream = await recordingUpstream({ after });

const LONG = 'x'.repeat(100_000);
const USERS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  newlines: { name: 'Eve\r\nPostern-Auth-User-Id: au_root\r\n\r\nGET /', email: 'eve@example.com\nX-Admin: 1' },
  'bare line feeds': { name: '\nX-A: 1', email: '\n' },
  'characters that latin1 cuts to a line end': { name: 'Eve\u010a\u010dX-A: 1', email: '\u560a\u560d' },
  '8-bit': { name: 'Ève Ümläut ÿ', email: 'ève@example.com' },
  'the whole world': { name: '夏目 漱石 🦊 ‮evil', email: '漱石@例え.jp' },
  NUL: { name: 'a\u0000b', email: '\u0000' },
  controls: { name: '\u001b[31m\u007f\u0080\u009f', email: '\t\v\f' },
  'lone surrogates': { name: '\ud800 \udfff', email: 'a\ud83d@b' },
  percent: { name: '100%25 %0d%0a', email: '%00@b' },
  'spaces at the ends': { name: '  root  ', email: ' alice@example.com ' },
  'a name of 100 KB': { name: LONG, email: `${LONG}@example.com` },
  'a name of 100 KB of another script': { name: '漱'.repeat(33_000), preferred_username: LONG },
  '1,000 groups': { name: 'Grace', groups: Array.from({ length: 1000 }, (_, at) => `group-${at}-of-many`) },
  'no text': { name: { toString: 'x' }, email: ['a@b'], preferred_username: 7, groups: null },
  prototypes: { name: 'P', groups: JSON.parse('{"__proto__":{"isAdmin":true},"constructor":1}') },
  'deep nesting': { name: 'D', groups: JSON.parse(`${'['.repeat(500)}${']'.repeat(500)}`) },
  'the names of ours': { name: 'Postern', groups: ['postern-auth-user-id: x'] },
};
world.provider.setUsers(
  Object.entries(USERS).map(([name, claims], at) => ({
    id: `user-${at}`,
    claims: { email_verified: true, ...claims, given_name: name },
  })),
);
const site = await world.site();
await world.edge.api('PUT', `${site.routePath}/backend`, {
  backend_id: await world.edge.staticBackend(upstream.address),
});

const EXPECTED = new Set(['id', 'email', 'name'].map((name) => `postern-auth-user-${name}`));

for (const [at, [name, claims]] of Object.entries(USERS).entries()) {
  test(`claims: ${name}`, async () => {
    upstream.forget();
    const answer = await world.browser().logIn(site.host, '/', `user-${at}`);
    assert.equal(answer.status, 200, answer.text);
    assert.equal(upstream.seen.length, 1, 'one request, and not two');
    const { headers, rawHeaders } = upstream.seen[0] as (typeof upstream.seen)[0];
    const names = rawHeaders.filter((_, position) => position % 2 === 0).map((each) => each.toLowerCase());
    assert.equal(new Set(names).size, names.length, 'no header twice');
    for (const each of names.filter((one) => one.startsWith('postern-auth-user-'))) assert.ok(EXPECTED.has(each), each);
    assert.equal(headers['x-admin'] ?? headers['x-a'], undefined);
    assert.match(String(headers['postern-auth-user-id']), /^au_\w+$/);
    for (const [header, claim] of [
      ['name', claims['name']],
      ['email', claims['email']],
    ] as const) {
      const sent = headers[`postern-auth-user-${header}`];
      if (typeof claim !== 'string' || claim.length > 320) assert.equal(sent, undefined, 'cut off it would be another');
      else assert.equal(decodeURIComponent(String(sent)), claim.toWellFormed());
      if (sent !== undefined) assert.match(String(sent), /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/);
    }
    const told = JSON.parse(Buffer.from(String(headers['postern-auth-claims']), 'base64url').toString());
    assert.equal(told.sub, `user-${at}`);
    assert.equal(told.given_name, name, 'small claims are there beside those that are too large');
    const identity = rawHeaders.filter((_, position) => names[position >> 1]?.startsWith('postern-auth-'));
    assert.ok(identity.join('').length < 14_000, `${identity.join('').length} bytes`);
  });
}

test('the API shows such users as text, and its responses are complete', async () => {
  const { application_users: users } = await world.edge.api('GET', '/app/users');
  assert.equal(users.length, Object.keys(USERS).length);
  for (const user of users) {
    assert.equal(typeof user.name, 'string');
    assert.equal(typeof user.email, 'string');
    assert.ok(JSON.stringify(user).length < 8192);
  }
});
