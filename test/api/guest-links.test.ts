import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { TestWorld } from '../support/test-world.ts';

const DAY_MS = 86_400_000;
let nowMs = Date.parse('2026-11-16T09:00:00Z');
const world = await TestWorld.open(
  { after },
  { clock: { nowMs: () => nowMs }, env: { POSTERN_EDGE_LISTEN: '127.0.0.1:8443' } },
);
const days = (count: number): string => new Date(nowMs + count * DAY_MS).toISOString();

async function edgeWith(...hostports: string[]): Promise<{ edge_id: string; route_id: string }> {
  const edge = await world.api('POST', '/edges/https', { hostports });
  assert.equal(edge.status, 201, edge.text);
  const path = `/edges/https/${edge.body.id}/routes`;
  const route = await world.api('POST', path, { match_type: 'path_prefix', match: '/' });
  assert.equal(route.status, 201, route.text);
  return { edge_id: edge.body.id, route_id: route.body.id };
}

const one = await edgeWith('one.example.com:443');
const several = await edgeWith('a.example.com:443', 'b.example.com:443', '*.wild.example.com:443');
const wild = await edgeWith('*.example.org:443');
await edgeWith('taken.wild.example.com:443');

const create = (fields: object) => world.api('POST', '/guest_links', { ...one, expires_at: days(4), ...fields });

suite('guest links', () => {
  test('a link has the edge’s only host, one browser and an URL that no later response repeats', async () => {
    const { status, body } = await create({ label: 'Ana', email: 'ana@partner.example' });
    assert.equal(status, 201);
    const { id, url, uri } = body;
    assert.match(id, /^gl_/);
    assert.match(url, /^https:\/\/one\.example\.com\/\.postern\/guest\?link=postern_gl_[\w-]{43}\.[0-9a-f]{32}$/);
    const shown = { ...one, label: 'Ana', email: 'ana@partner.example', expires_at: days(4), host: 'one.example.com' };
    const read = await world.api('GET', uri);
    for (const [name, value] of Object.entries({ ...shown, max_browsers: 1, used_by: [], url: null })) {
      assert.deepEqual(read.body[name], value, name);
    }
    const list = await world.api('GET', '/guest_links');
    assert.equal(list.body.guest_links.find((link: { id: string }) => link.id === id).url, null);
    const secret = url.slice(url.indexOf('=') + 1);
    for (const text of [read.text, list.text, world.logLines.join('\n')]) assert.ok(!text.includes(secret));
    const stored = await world.store.changesSince(0);
    assert.ok(!JSON.stringify(stored).includes(secret.slice(0, 40)), 'the store has only a hash');
  });

  test('the URL has the port of the edge', async () => {
    const ported = await edgeWith('ported.example.com:8443');
    const { body } = await create({ ...ported });
    assert.match(body.url, /^https:\/\/ported\.example\.com:8443\/\.postern/);
  });

  for (const [name, fields, host] of [
    ['a listed host', { ...several, host: 'b.example.com' }, 'b.example.com'],
    ['a listed host in capitals', { ...several, host: 'B.Example.COM' }, 'b.example.com'],
    ['a host below a wildcard', { ...wild, host: 'x.example.org' }, 'x.example.org'],
  ] as const) {
    test(`accepts ${name}`, async () => assert.equal((await create(fields)).body.host, host));
  }

  for (const [name, fields, field, says] of [
    ['several hosts without a choice', several, '/host', /is required, because the edge has the hosts a\.example\.com/],
    ['a wildcard without a choice', wild, '/host', /is required/],
    ['a wildcard as the host', { ...wild, host: '*.example.org' }, '/host', /wildcard/],
    ['a host of no edge', { host: 'two.example.com' }, '/host', /"two\.example\.com" is not a host of the edge/],
    ['two labels below a wildcard', { ...wild, host: 'y.x.example.org' }, '/host', /is not a host of the edge/],
    ['the wildcard’s own domain', { ...wild, host: 'example.org' }, '/host', /is not a host of the edge/],
    ['a host of another edge', { ...several, host: 'taken.wild.example.com' }, '/host', /belongs to another edge/],
    ['a host with a port', { host: 'one.example.com:443' }, '/host', /is not a host name/],
    ['a route of another edge', { route_id: wild.route_id }, '/route_id', /a route of another edge/],
    ['no expires_at', { expires_at: undefined }, '/expires_at', /required/],
    ['null as expires_at', { expires_at: null }, '/expires_at', /./],
    ['a number as expires_at', { expires_at: 1_800_000_000 }, '/expires_at', /./],
    ['a day as expires_at', { expires_at: '2026-11-20' }, '/expires_at', /RFC 3339/],
    ['a day that does not exist', { expires_at: '2027-02-30T00:00:00Z' }, '/expires_at', /RFC 3339/],
    ['a time without a zone', { expires_at: '2026-11-20T18:00:00' }, '/expires_at', /with "Z" or an offset, such as/],
    ['words as expires_at', { expires_at: 'in 7 days' }, '/expires_at', /a date and a time .* such as \d{4}-/],
    [
      'the current time as expires_at',
      { expires_at: days(0) },
      '/expires_at',
      /future: write a time after \d.* delete it/,
    ],
    ['a time that has passed', { expires_at: '2020-01-01T00:00:00Z' }, '/expires_at', /future: write a time after \d/],
    [
      'more than 90 days',
      { expires_at: days(90.001) },
      '/expires_at',
      /at most 90 days from now: write \d{4}-.* or an/,
    ],
    ['no browser', { max_browsers: 0 }, '/max_browsers', /1/],
    ['too many browsers', { max_browsers: 1001 }, '/max_browsers', /1000/],
    ['half a browser', { max_browsers: 1.5 }, '/max_browsers', /whole number/],
    ['an e-mail without "@"', { email: 'ana' }, '/email', /./],
    ['an e-mail with a line break', { email: 'a@b\nc' }, '/email', /./],
    ['used_by', { used_by: [] }, '/used_by', /./],
    ['url', { url: 'https://evil.example' }, '/url', /./],
  ] as const) {
    test(`rejects ${name}`, async () => {
      const answer = await create(fields);
      assert.equal(answer.status, 400, answer.text);
      assert.equal(answer.body.error_code, 'ERR_POSTERN_INVALID_BODY');
      assert.ok(answer.text.includes(`"${field}"`), answer.text);
      assert.match(answer.body.msg, says);
    });
  }

  for (const field of ['edge_id', 'route_id']) {
    test(`rejects an unknown ${field}`, async () => {
      const prefix = field === 'edge_id' ? 'edghts' : 'edghtsrt';
      const answer = await create({ [field]: `${prefix}_2zXAMPLEedgeOfTheDocsAAAAAA` });
      assert.equal(answer.body.error_code, 'ERR_POSTERN_UNKNOWN_REFERENCE', answer.text);
      assert.equal(answer.body.details.field, `/${field}`);
    });
  }

  test('accepts exactly 90 days, and stores the time in UTC', async () => {
    assert.equal((await create({ expires_at: days(90) })).status, 201);
    const { body } = await create({ expires_at: '2026-11-20T19:00:00+01:00' });
    assert.equal(body.expires_at, '2026-11-20T18:00:00.000Z');
  });

  test('a change moves the end and the number of browsers, within the same limits, and nothing else', async () => {
    const { uri } = (await create({})).body;
    const changed = await world.api('PATCH', uri, { expires_at: days(10), max_browsers: 3, label: 'Bo' });
    assert.deepEqual(
      [changed.status, changed.body.expires_at, changed.body.max_browsers, changed.body.url],
      [200, days(10), 3, null],
    );
    for (const [field, value, says] of [
      ['expires_at', days(91), /at most 90 days/],
      ['expires_at', days(-1), /delete it/],
      ['host', 'one.example.com', /cannot be changed/],
      ['edge_id', several.edge_id, /cannot be changed/],
      ['route_id', several.route_id, /cannot be changed/],
    ] as const) {
      const refused = await world.api('PATCH', uri, { [field]: value });
      assert.equal(refused.status, 400, field);
      assert.match(refused.body.msg, says);
    }
  });

  test('an expired link can still be described, and be extended', async () => {
    const { uri } = (await create({ expires_at: days(1) })).body;
    nowMs += 2 * DAY_MS;
    assert.equal((await world.api('PATCH', uri, { label: 'late' })).status, 200);
    assert.equal((await world.api('PATCH', uri, { expires_at: days(1) })).status, 200);
  });

  test('a link is deleted with its route, and with its edge', async () => {
    for (const whole of ['route', 'edge']) {
      const place = await edgeWith(`${whole}.example.net:443`);
      const { uri } = (await create(place)).body;
      const path = `/edges/https/${place.edge_id}${whole === 'route' ? `/routes/${place.route_id}` : ''}`;
      assert.equal((await world.api('DELETE', path)).status, 204, whole);
      assert.equal((await world.api('GET', uri)).status, 404, whole);
    }
  });
});
