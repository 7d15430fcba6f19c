import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { assertApiError } from '../conformance/api-error.ts';
import { FURNISHED_ENV, FurnishedWorld, nameOf, operations } from '../conformance/furnished-world.ts';
import { TestWorld } from '../support/test-world.ts';

const world = await TestWorld.open({ after }, { env: FURNISHED_ENV });
const furnished = await FurnishedWorld.furnish(world);
const list = (path: string, filter: string, others = '') =>
  world.api('GET', `${path}?filter=${encodeURIComponent(filter)}${others}`);

suite('every list takes a filter over the fields that it shows', () => {
  for (const operation of operations.filter(({ verb }) => verb === 'list')) {
    test(nameOf(operation), async () => {
      const path = furnished.path(operation);
      const whole = await world.api('GET', path);
      const [[key, items] = assert.fail()] = Object.entries<Record<string, unknown>[]>(whole.body).filter(([, value]) =>
        Array.isArray(value),
      );
      const [wanted] = items;
      const name = ['id', 'type', 'revision', 'name'].find((each) => wanted?.[each] !== undefined);
      if (wanted === undefined || name === undefined) assert.fail(`nothing to find: ${whole.text}`);
      const value = JSON.stringify(wanted[name]);
      const found = await list(path, `obj.${name} == ${value}`);
      assert.equal(found.status, 200, found.text);
      const same = items.filter((item) => item[name] === wanted[name]);
      assert.deepEqual(
        found.body[key].map((item: Record<string, unknown>) => item[name]),
        same.map((item) => item[name]),
      );
      assert.equal(found.body.next_page_uri ?? null, null);
      assert.deepEqual((await list(path, `!(obj.${name} == obj.${name})`)).body[key], []);
      assertApiError(await list(path, 'obj.no_such_field == 1'), {
        status: 400,
        code: 'ERR_POSTERN_INVALID_QUERY',
        says: /^filter: character 1: "no_such_field" is not a field here/,
      });
    });
  }
});

test('pages keep the filter, and show each match once, newest first', async () => {
  for (let count = 0; count < 25; count += 1)
    await world.api('POST', '/ip_policies', {
      metadata: count % 3 === 0 ? 'wanted' : 'other',
      description: `${count}`,
    });
  const wanted = ['24', '21', '18', '15', '12', '9', '6', '3', '0'];
  for (const limit of [1, 2, 9, 10, 100]) {
    const found: string[] = [];
    let pages = 0;
    let uri = `/ip_policies?limit=${limit}&filter=${encodeURIComponent('obj.metadata == "wanted"')}`;
    for (; uri !== null; pages += 1) {
      const { body } = await world.api('GET', uri);
      assert.ok(body.ip_policies.length <= limit);
      found.push(...body.ip_policies.map(({ description }: { description: string }) => description));
      uri = body.next_page_uri;
    }
    assert.deepEqual(found, wanted, `pages of ${limit}`);
    assert.equal(pages, Math.ceil(wanted.length / limit), `pages of ${limit}`);
  }
});

test('a filter sees secrets only as the key sees them', async () => {
  const route = `/edges/https/${furnished.id('edghts')}/routes/${furnished.id('edghtsrt')}`;
  await world.api('PUT', `${route}/oidc`, {
    issuer: 'https://id.example.com',
    client_id: 'c',
    client_secret: 'guess-me',
  });
  const { body: reader } = await world.api('POST', '/api_keys', { scopes: ['edges:read'] });
  const ask = (key?: string) =>
    world.api(
      'GET',
      `/edges/https/${furnished.id('edghts')}/routes?filter=${encodeURIComponent('obj.oidc.client_secret.startsWith("guess")')}`,
      undefined,
      key === undefined ? {} : { key },
    );
  assert.equal((await ask()).body.routes.length, 1);
  assert.equal((await ask(reader.token)).body.routes.length, 0);
  const webhook = 'obj.target.webhook.secret != "********" && obj.target.webhook.secret != ""';
  assert.deepEqual((await list('/event_destinations', webhook)).body.event_destinations, []);
});

test('an expression that is too long or empty is rejected', async () => {
  const long = await list('/ip_policies', `obj.metadata == "${'x'.repeat(1100)}"`);
  assertApiError(long, { status: 400, says: /filter has more than 1024 characters/ });
  assertApiError(await list('/ip_policies', ''), { status: 400, says: /filter is empty/ });
});

test('newer clients of the retired service send it with Ngrok-Version', async () => {
  const answer = await world.api('GET', '/endpoints?filter=obj.type%20%3D%3D%20%22edge%22', undefined, {
    version: null,
    headers: { 'ngrok-version': '2' },
  });
  assert.ok(answer.body.endpoints.length > 0);
});
