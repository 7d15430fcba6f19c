import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { TestWorld } from '../support/test-world.ts';
import { assertRefused, assertUnmoved } from './api-error.ts';
import { FURNISHED_ENV, FurnishedWorld } from './furnished-world.ts';

const world = await TestWorld.open({ after }, { env: FURNISHED_ENV });
const furnished = await FurnishedWorld.furnish(world);

/** The body that the Python client sends with a PATCH when only the id is given. Elsewhere it sends `{}`. */
const EMPTY_CHANGES: Readonly<Record<string, object>> = {
  [`/backends/failover/${furnished.id('bkdfo')}`]: { backends: [] },
  [`/backends/static/${furnished.id('bkdsc')}`]: { address: '' },
  [`/backends/tunnel_group/${furnished.id('bkdtg')}`]: { labels: {} },
  [`/backends/weighted/${furnished.id('bkdwd')}`]: { backends: {} },
  [`/edges/https/${furnished.id('edghts')}/routes/${furnished.id('edghtsrt')}`]: {
    edge_id: furnished.id('edghts'),
    id: furnished.id('edghtsrt'),
    match_type: '',
    match: '',
    description: '',
    metadata: '',
  },
  [`/reserved_domains/${furnished.id('rd')}`]: { resolves_to: [], region: '', domain: '' },
  [`/event_destinations/${furnished.id('ed')}`]: { format: '' },
  [`/ip_policy_rules/${furnished.id('ipr')}`]: { cidr: '' },
};

suite('PATCH with an empty value for every omitted argument', () => {
  for (const [path, body] of Object.entries(EMPTY_CHANGES)) {
    test(`changes nothing at ${path.replaceAll(/_[0-9A-Za-z]{27}/g, '')}`, async () => {
      const before = await world.api('GET', path);
      const answer = await assertUnmoved(world, () => world.api('PATCH', path, body));
      assert.equal(answer.status, 200, answer.text);
      assert.deepEqual(answer.body, before.body);
    });
  }

  test('removes nothing that the Python client did not name, but does on request of others', async () => {
    const headers = { 'ngrok-version': '2' };
    const subscription = `/event_subscriptions/${furnished.id('esb')}`;
    const route = (await world.api('GET', `/edges/https/${furnished.id('edghts')}`)).body.routes[0].uri;
    await world.api('PATCH', route, { description: 'keep', metadata: 'keep' });
    const python = { description: 'new', sources: [] };
    const kept = await world.api('PATCH', subscription, python, { version: null, headers });
    assert.ok(kept.body.sources.length > 0, kept.text);
    const named = await world.api('PATCH', route, { description: '', metadata: '' }, { version: null, headers });
    assert.deepEqual([named.body.description, named.body.metadata], ['keep', 'keep']);
    const emptied = await world.api('PATCH', route, { description: '', metadata: '' });
    assert.deepEqual([emptied.body.description, emptied.body.metadata], ['', '']);
    const made = await world.api('POST', '/event_subscriptions', { sources: [{ type: 'ip_policy_created.v0' }] });
    assert.deepEqual((await world.api('PATCH', made.body.uri, { sources: [] })).body.sources, []);
  });

  // As `client.edges.https_routes.update(edge_id, id, description="new")` of ngrok-api 0.19.0 sends it.
  test('sets no module of a route that the Python client did not name', async () => {
    const edge = await world.api('POST', '/edges/https', { hostports: ['python.localhost:443'] });
    const { uri } = (await world.api('POST', `${edge.body.uri}/routes`, { match_type: 'path_prefix', match: '/' }))
      .body;
    const before = (await world.api('GET', uri)).body;
    const python = {
      ...{ match_type: '', match: '', description: 'new', metadata: '', backend: null, ip_restriction: null },
      ...{ compression: null, oauth: null, saml: null, oidc: null, traffic_policy: null },
    };
    const headers = { 'ngrok-version': '2' };
    const answer = await world.api('PATCH', uri, python, { version: null, headers });
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.body, { ...before, description: 'new' });
  });

  test('still clears what can be empty, and still rejects what a create needs', async () => {
    const made = await world.api('POST', '/event_destinations', {
      format: '',
      description: '',
      target: { file: { name: 'empties' } },
    });
    assert.equal(made.status, 201, made.text);
    assert.equal(made.body.format, 'json');
    const edge = await world.api('POST', '/edges/https', { hostports: ['empties.localhost:443'], description: 'x' });
    const emptied = await world.api('PATCH', edge.body.uri, { hostports: [], description: '' });
    assert.deepEqual([emptied.body.hostports, emptied.body.description], [[], '']);
    for (const [path, body, field] of [
      ['/backends/static', { address: '' }, '/address'],
      ['/backends/failover', { backends: [] }, '/backends'],
      ['/backends/tunnel_group', { labels: {} }, '/labels'],
      ['/reserved_domains', { domain: '' }, '/domain'],
    ] as const)
      await assertRefused(world, () => world.api('POST', path, body), { status: 400, field });
  });
});

test('token and owner_id are null where they are not shown, never absent', async () => {
  for (const path of ['/credentials', '/api_keys']) {
    const created = await world.api('POST', path, { owner_id: null });
    assert.match(created.body.token, /^postern_/);
    assert.equal(created.body.owner_id, null);
    const shown = [
      (await world.api('GET', created.body.uri)).body,
      (await world.api('PATCH', created.body.uri, { ...created.body, description: 'd' })).body,
      ...Object.values<object[]>((await world.api('GET', path)).body).flat(),
    ].filter((each) => each?.id !== undefined);
    assert.ok(shown.length > 2);
    for (const each of shown) assert.deepEqual([each.token, each.owner_id], [null, null], each.id);
  }
});

suite('reserved domains', () => {
  test('accept "name" for "domain", and an empty "resolves_to"', async () => {
    const made = await world.api('POST', '/reserved_domains', {
      name: 'Aliased.localhost',
      resolves_to: [],
      region: '',
    });
    assert.equal(made.status, 201, made.text);
    assert.deepEqual([made.body.domain, 'name' in made.body], ['aliased.localhost', false]);
    const both = { name: 'both.localhost', domain: 'both.localhost' };
    assert.equal((await world.api('POST', '/reserved_domains', both)).status, 201);
    assert.equal((await world.api('POST', '/reserved_domains', { name: 'x.localhost', domain: '' })).status, 201);
    await assertRefused(world, () => world.api('POST', '/reserved_domains', { ...both, name: 'other.localhost' }), {
      status: 400,
      field: '/name',
    });
    await assertRefused(
      world,
      () => world.api('POST', '/reserved_domains', { domain: 'r.localhost', resolves_to: [{ value: 'us' }] }),
      { status: 400, field: '/resolves_to' },
    );
    await assertRefused(world, () => world.api('PATCH', made.body.uri, { name: 'moved.localhost' }), {
      status: 400,
      field: '/domain',
      says: 'cannot be changed',
    });
  });

  test('show no region when none was given', async () => {
    const made = await world.api('POST', '/reserved_domains', { domain: 'nowhere.localhost' });
    assert.equal(made.body.region, '');
    const eu = await world.api('POST', '/reserved_domains', { domain: 'somewhere.localhost', region: 'eu' });
    assert.equal((await world.api('GET', eu.body.uri)).body.region, 'eu');
  });

  test('lose their certificate and their policy with DELETE, once or twice', async () => {
    const certified = { domain: 'furnished2.localhost', certificate_id: furnished.id('cert') };
    const { uri } = (await world.api('POST', '/reserved_domains', certified)).body;
    assert.equal((await world.api('GET', uri)).body.certificate.id, furnished.id('cert'));
    for (let round = 0; round < 2; round += 1)
      assert.equal((await world.api('DELETE', `${uri}/certificate`)).status, 204);
    assert.equal((await world.api('GET', uri)).body.certificate, null);
    await world.api('PATCH', uri, { certificate_management_policy: { authority: 'internal' } });
    for (let round = 0; round < 2; round += 1)
      assert.equal((await world.api('DELETE', `${uri}/certificate_management_policy`)).status, 204);
    assert.equal((await world.api('GET', uri)).body.certificate_management_policy, null);
    const known = furnished.id('rd');
    const unknown = `/reserved_domains/${known.slice(0, -1)}${known.endsWith('0') ? '1' : '0'}`;
    await assertRefused(world, () => world.api('DELETE', `${unknown}/certificate`), { status: 404 });
  });
});

test('modules of the retired service without a place here read null, and only an empty value may be sent back', async () => {
  const edge = await world.api('POST', '/edges/https', { hostports: ['no-place.localhost:443'] });
  const { uri } = (await world.api('POST', `${edge.body.uri}/routes`, { match_type: 'path_prefix', match: '/' })).body;
  const values = {
    saml: [/use the oidc or the oauth module/, { idp_metadata: '<x/>' }],
    traffic_policy: [/set the modules of the route/, { enabled: true, value: '{}' }],
    policy: [/set the modules of the route/, { enabled: true, inbound: [], outbound: [] }],
  } as const;
  for (const [name, [message, value]] of Object.entries(values)) {
    assert.equal((await world.api('GET', uri)).body[name], null);
    for (const empty of [null, {}, '', []]) {
      const answer = await world.api('PATCH', uri, { [name]: empty });
      assert.deepEqual([answer.status, answer.body[name]], [200, null], answer.text);
    }
    await assertRefused(world, () => world.api('PATCH', uri, { [name]: value }), { status: 400, field: `/${name}` });
    assert.match((await world.api('PATCH', uri, { [name]: value })).body.msg, message);
    const created = { match_type: 'exact_path', match: '/x', [name]: value };
    await assertRefused(world, () => world.api('POST', `${edge.body.uri}/routes`, created), {
      status: 400,
      field: `/${name}`,
    });
  }
});
