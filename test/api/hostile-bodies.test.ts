import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { EdgeWorld } from '../support/edge-world.ts';

const world = await EdgeWorld.open({ after });
const site = await world.site(await world.staticBackend('127.0.0.1:1'));
const MAX_BYTES = 1_000_000;

/** A list or object of as many members as fit into a body. */
function filled(open: string, member: (at: number) => string, close: string): string {
  const members: string[] = [];
  for (let at = 0, bytes = 40; bytes < MAX_BYTES; at += 1) {
    const next = member(at);
    bytes += next.length + 1;
    members.push(next);
  }
  members.pop();
  return `${open}${members.join(',')}${close}`;
}

const keys = filled('{', (at) => `"k${at.toString(36)}":1`, '}');
const BODIES: Readonly<Record<string, string>> = {
  '95,000 unknown fields': keys,
  'unknown fields with null': filled('{', (at) => `"k${at.toString(36)}":null`, '}'),
  'unknown fields of a field': `{"allow":${keys}}`,
  'unknown fields of a rule': `{"allow":[${keys}]}`,
  'one field again and again': filled('{', () => '"enabled":true', '}'),
  'a list of wrong items': `{"allow":${filled('[', () => '1', ']')}}`,
  'a list of empty rules': `{"allow":${filled('[', () => '{}', ']')}}`,
  'deep lists': `{"allow":${'['.repeat(400_000)}${']'.repeat(400_000)}}`,
  'deep objects': `{"allow":${'{"a":'.repeat(160_000)}1${'}'.repeat(160_000)}}`,
};

suite('a body of 1 MB that would hold the event loop', () => {
  for (const [what, body] of Object.entries(BODIES)) {
    test(`is refused before it is parsed: ${what}`, async () => {
      for (const [method, path] of [
        ['PUT', `${site.routePath}/access`],
        ['PATCH', site.routePath],
        ['POST', `${site.routePath}/access/test`],
      ] as const) {
        const { status, body: answer } = await world.world.api(method, path, undefined, {
          rawBody: body,
        });
        assert.deepEqual([status, answer.error_code], [400, 'ERR_POSTERN_INVALID_JSON'], method);
        assert.match(answer.msg, /more than (20000 values|64 levels)/);
      }
    });
  }

  test('names its last value if only that is wrong', async () => {
    const emails = Array.from({ length: 100 }, (_, at) => `p${at}@example.com`);
    const rules = Array.from({ length: 100 }, () => ({ emails }));
    assert.equal((await world.world.api('PUT', `${site.routePath}/access`, { allow: rules })).status, 200);
    const wrong = [...rules.slice(0, -1), { emails: [...emails.slice(0, -1), 7] }];
    const { status, body } = await world.world.api('PUT', `${site.routePath}/access`, { allow: wrong });
    assert.equal(status, 400);
    assert.equal(body.details.field, '/allow/99/emails/99');
  });

  test('is parsed in slices if it is a changeset', async () => {
    const operations = Array.from({ length: 4_000 }, (_, at) => ({
      method: 'PATCH',
      path: '/ip_policies/ipp_none',
      body: { description: `a${at}`, metadata: '' },
    }));
    const { status, body } = await world.world.api('POST', '/changesets', { operations });
    assert.ok(status === 404 || status === 400 || status === 422, JSON.stringify(body));
    assert.notEqual(body.error_code, 'ERR_POSTERN_INVALID_JSON');
  });
});

suite('a body in which an object has a name twice', () => {
  const send = (method: string, path: string, rawBody: string) => world.world.api(method, path, undefined, { rawBody });
  const filler = JSON.stringify(
    Array.from({ length: 30_000 }, (_, at) => ({ method: 'PATCH', path: '/x', body: { a: `${at}` } })),
  ).slice(1, -1);
  const bodies: readonly (readonly [what: string, method: string, path: string, body: string])[] = [
    ['a module', 'PUT', `${site.routePath}/compression`, '{"enabled":false,"enabled":true}'],
    ['an escaped name', 'PUT', `${site.routePath}/compression`, '{"enabled":false,"en\\u0061bled":true}'],
    ['equal values', 'PATCH', site.routePath, '{"description":"a","description":"a"}'],
    ['an inner object', 'PATCH', site.routePath, '{"compression":{"enabled":true,"enabled":false}}'],
    ['an item of a list', 'PUT', `${site.routePath}/access`, '{"allow":[{"emails":[],"emails":["a@b.example"]}]}'],
    ['a key', 'POST', '/api_keys', '{"scopes":["*:read"],"scopes":["*"]}'],
    ['a changeset', 'POST', '/changesets', '{"dry_run":true,"operations":[],"dry_run":false}'],
    [
      'a large changeset, far apart',
      'POST',
      '/changesets',
      `{"dry_run":true,"operations":[${filler}],"dry_run":false}`,
    ],
    [
      'a large changeset, inside',
      'POST',
      '/changesets',
      `{"operations":[${filler},{"method":"DELETE","path":"/a","path":"/b"}]}`,
    ],
  ];
  for (const [what, method, path, body] of bodies) {
    test(`is refused: ${what}`, async () => {
      const { status, body: answer } = await send(method, path, body);
      assert.deepEqual([status, answer.error_code], [400, 'ERR_POSTERN_INVALID_JSON'], JSON.stringify(answer));
      assert.match(answer.msg, /has the name "\w+" twice/);
    });
  }

  test('is not confused with one in which two objects have it', async () => {
    const body = '{"description":"\\":\\"","compression":{"enabled":true}}';
    assert.equal((await send('PATCH', site.routePath, body)).status, 200);
  });

  test('an empty If-Match is no condition, and nothing is written', async () => {
    for (const header of ['', ' ']) {
      const { status, body } = await world.world.api(
        'PATCH',
        site.routePath,
        { description: 'lost' },
        {
          headers: { 'if-match': header },
        },
      );
      assert.deepEqual([status, body.error_code], [400, 'ERR_POSTERN_INVALID_HEADER']);
    }
    assert.notEqual((await world.world.api('GET', site.routePath)).body.description, 'lost');
  });
});
