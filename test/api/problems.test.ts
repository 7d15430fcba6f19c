import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { loadConfig } from '../../src/app/settings/load.ts';
import { createCatalog } from '../../src/control/documents/catalog.ts';
import { Problems } from '../../src/control/documents/problems/problems.ts';
import type { KnownHere } from '../../src/control/documents/problems/read-facts.ts';
import { Renderer } from '../../src/control/documents/renderer.ts';
import { resources } from '../../src/control/resources/registry.ts';
import { createKsuidSource } from '../../src/kit/text/ksuid.ts';
import type { StoredRecord } from '../../src/store/store.ts';
import { issue } from '../edge/tls/test-authority.ts';
import { TestWorld } from '../support/test-world.ts';

interface Problem {
  readonly severity: string;
  readonly check: string;
  readonly message: string;
  readonly advice: string | null;
  readonly object: { readonly id: string; readonly uri: string } | null;
}

const world = await TestWorld.open({ after });
const made = async (path: string, body: object): Promise<string> => {
  const answer = await world.api('POST', path, body);
  assert.equal(answer.status, 201, answer.text);
  return answer.body.id;
};
const find = async (query = '', key?: string) => {
  const answer = await world.api('GET', `/problems${query}`, undefined, key === undefined ? {} : { key });
  assert.equal(answer.status, 200, answer.text);
  return answer.body as {
    problems: readonly Problem[];
    uri: string;
    checked_at: string;
    counts: Readonly<Record<string, number>>;
    more: number;
    skipped_checks: readonly string[];
  };
};
const about = async (id: string): Promise<readonly string[]> =>
  (await find()).problems
    .filter(({ object }) => object?.id === id)
    .map(({ severity, check, message }) => `${severity} ${check}: ${message.replaceAll(id, 'ID')}`);

suite('GET /problems', () => {
  test('finds nothing in an installation without configuration', async () => {
    const { problems, uri, counts, more, skipped_checks: skipped, checked_at: at } = await find();
    assert.deepEqual([problems, more, skipped], [[], 0, []]);
    assert.deepEqual(counts, { problem: 0, warning: 0, hint: 0 });
    assert.equal(uri, `${world.baseUrl}/problems`);
    assert.ok(!Number.isNaN(Date.parse(at)));
  });

  test('names each object with what is wrong and what to do, the worst first', async () => {
    const edge = await made('/edges/https', { hostports: ['shop.localhost:443'] });
    assert.deepEqual(await about(edge), ['hint routes: shop.localhost has no routes: every request gets 404']);
    const route = await made(`/edges/https/${edge}/routes`, {
      match: '/',
      match_type: 'path_prefix',
      oidc: { client_id: 'c', client_secret: 'planted-secret-value' },
    });
    assert.deepEqual(await about(edge), []);
    const [first, second, ...rest] = (await find()).problems;
    assert.deepEqual(rest, []);
    assert.match(first?.message ?? '', /rejects all traffic: oidc: login has no issuer/);
    assert.equal(first?.severity, 'problem');
    assert.equal(first?.advice, `repair the module, or delete it: DELETE /edges/https/${edge}/routes/${route}/oidc`);
    assert.deepEqual(second, {
      severity: 'warning',
      check: 'routes',
      message: 'shop.localhost/ has no backend: its requests get 503',
      advice: `set one: postern api backend replace --edge ${edge} --route ${route} --backend-id ID`,
      object: { id: route, uri: `${world.baseUrl}/edges/https/${edge}/routes/${route}` },
    });
    assert.ok(!JSON.stringify(await find()).includes('planted-secret-value'));
  });

  test('reports an authority that has expired, and a destination that is paused', async () => {
    const expired = await issue({ commonName: 'staff', isCa: true, fromDays: -60, toDays: -1 });
    const authority = await made('/certificate_authorities', { ca_pem: expired.certificatePem });
    assert.match(
      (await about(authority)).join(),
      /^warning authorities: ID \(.*\) expired on .*, and no edge uses it$/,
    );
    const edge = await made('/edges/https', {
      hostports: ['staff.localhost:443'],
      mutual_tls: { certificate_authority_ids: [authority] },
    });
    assert.match((await about(authority)).join(), /^problem authorities: ID .*: its clients are rejected$/);
    assert.equal((await about(edge)).length, 1);

    const destination = await made('/event_destinations', {
      target: { file: { name: 'e.ndjson' } },
      description: 'log',
    });
    assert.deepEqual(await about(destination), []);
    await world.api('POST', `/event_destinations/${destination}/pause`);
    assert.deepEqual(await about(destination), [
      'hint destinations: the event destination "log" is paused: its events wait',
    ]);
  });

  test('leaves out checks about objects that the key may not read, and names them', async () => {
    const { token } = (await world.api('POST', '/api_keys', { scopes: ['event_destinations:read'] })).body;
    const { problems, counts, skipped_checks: skipped } = await find('', token);
    assert.deepEqual([...new Set(problems.map(({ check }) => check))], ['destinations']);
    assert.deepEqual(counts, { problem: 0, warning: 0, hint: 1 });
    assert.deepEqual([...skipped].sort(), [
      'agents',
      'alerts',
      'authorities',
      'certificates',
      'identity',
      'lists',
      'managed_certificates',
      'nodes',
      'routes',
      'settings',
      'store',
    ]);
    const { token: edges } = (await world.api('POST', '/api_keys', { scopes: ['edges:read'] })).body;
    assert.ok((await find('', edges)).problems.every(({ check }) => check === 'routes'));
    assert.deepEqual((await find()).skipped_checks, []);
  });

  test('has a limit, and counts what is beyond it', async () => {
    const all = await find();
    const { problems, counts, more } = await find('?limit=1');
    assert.deepEqual(problems, all.problems.slice(0, 1));
    assert.deepEqual([counts, more], [all.counts, all.problems.length - 1]);
    for (const wrong of ['limit=0', 'limit=201', 'limit=x', 'q=1'])
      assert.equal((await world.api('GET', `/problems?${wrong}`)).status, 400, wrong);
  });
});

suite('a route to the API of this server', () => {
  const open = async (isBehind: boolean) => {
    const own = await TestWorld.open({ after }, { env: { POSTERN_API_BEHIND_EDGE: String(isBehind) } });
    const { port } = new URL(own.baseUrl);
    const make = async (path: string, body: object) => (await own.api('POST', path, body)).body.id as string;
    const backend = (host: string, to = port) => make('/backends/static', { address: `${host}:${to}` });
    const edge = await make('/edges/https', { hostports: ['own.localhost:443'] });
    const routes = `/edges/https/${edge}/routes`;
    const leading = async (id: string, modules: object = {}): Promise<readonly string[]> => {
      const route = { match: '/', match_type: 'path_prefix', backend: { backend_id: id }, ...modules };
      const made = await make(routes, route);
      const { problems } = (await own.api('GET', '/problems')).body;
      await own.api('DELETE', `${routes}/${made}`);
      return problems
        .filter((each: Problem) => /leads everybody to the API/.test(each.message) && each.object?.id === made)
        .map(({ severity }: Problem) => severity);
    };
    return { own, make, backend, leading, edge };
  };

  test('is a problem unless something keeps strangers out, whatever backend leads there', async () => {
    const { own, make, backend, leading, edge } = await open(true);
    const direct = await backend('127.0.0.1');
    assert.deepEqual(await leading(direct), ['problem']);
    assert.deepEqual(await leading(await backend('localhost')), ['problem']);
    assert.deepEqual(await leading(await backend('api.localhost')), ['problem']);
    assert.deepEqual(await leading(await backend('127.0.0.1', '9')), []);
    assert.deepEqual(await leading(await backend('10.99.99.99')), []);
    const weighted = await make('/backends/weighted', {
      backends: { [direct]: 1, [await backend('127.0.0.1', '9')]: 9 },
    });
    const failover = await make('/backends/failover', { backends: [await backend('127.0.0.1', '8'), weighted] });
    assert.deepEqual(await leading(failover), ['problem']);
    const policy = await make('/ip_policies', {});
    const restriction = { ip_policy_ids: [policy] };
    assert.deepEqual(await leading(direct, { ip_restriction: restriction }), []);
    assert.deepEqual(await leading(direct, { ip_restriction: { ...restriction, enabled: false } }), ['problem']);
    const login = { issuer: 'https://id.example.com', client_id: 'c', client_secret: 's' };
    assert.deepEqual(await leading(direct, { oidc: login }), []);
    assert.deepEqual(await leading(direct, { access: { allow: [{ emails: ['a@example.com'] }] } }), []);
    const { certificatePem } = await issue({ commonName: 'staff', isCa: true, fromDays: -1, toDays: 60 });
    const authority = await make('/certificate_authorities', { ca_pem: certificatePem });
    await own.api('PUT', `/edges/https/${edge}/mutual_tls`, { certificate_authority_ids: [authority] });
    assert.deepEqual(await leading(direct), []);
  });

  test('is none where traffic cannot get there', async () => {
    const { backend, leading } = await open(false);
    assert.deepEqual(await leading(await backend('127.0.0.1')), []);
  });
});

suite('a route to an address that the edge may not connect to', () => {
  test('is a problem that says what to do', async () => {
    const own = await TestWorld.open({ after });
    const { host } = new URL(own.baseUrl);
    const edge = (await own.api('POST', '/edges/https', { hostports: ['far.localhost:443'] })).body.id;
    const cases = [
      ['169.254.169.254:80', /may not connect to 169\.254\.169\.254/, /upstream_allow_cidrs/],
      [host, /may not connect to 127\.0\.0\.1/, /api_behind_edge/],
    ] as const;
    for (const [address, message, advice] of cases) {
      const backend = (await own.api('POST', '/backends/static', { address })).body.id;
      const route = { match: '/', match_type: 'path_prefix', backend: { backend_id: backend } };
      const { id } = (await own.api('POST', `/edges/https/${edge}/routes`, route)).body;
      const { problems } = (await own.api('GET', '/problems')).body;
      const [found] = problems.filter((each: Problem) => each.object?.id === id);
      assert.equal(found?.severity, 'problem', address);
      assert.match(found.message, message);
      assert.match(found.advice, advice);
      await own.api('DELETE', `/edges/https/${edge}/routes/${id}`);
    }
  });
});

suite('with 10,000 edges', () => {
  const ksuid = createKsuidSource();
  const catalog = createCatalog(resources, []);
  const renderer = new Renderer(catalog, () => '');
  const record = (at: number): StoredRecord => ({
    ...{ kind: 'https_edge', id: `edghts_${ksuid(at * 1_000)}`, parent: null, revision: 1, secrets: null },
    doc: { hostports: [`host-${at}.localhost:443`] },
  });
  const records = Array.from({ length: 10_000 }, (_, at) => record(at));
  const replica = {
    revision: 1,
    runs: 0,
    all: (kind: string) => {
      if (kind === 'https_edge') replica.runs += 1;
      return kind === 'https_edge' ? records : [];
    },
    ...{ get: () => undefined, page: () => [], pageOfParent: () => [] },
  };
  const clock = { now: 0, nowMs: () => clock.now };
  const problems = new Problems({
    ...{ replica, clock, config: loadConfig({ flags: new Map(), env: {} }).config },
    ...{
      nodes: () => [],
      peers: () => [],
      online: { list: () => Promise.resolve([]) },
      unprepared: () => [],
      storeProblem: () => null,
      directories: new Map(),
      loginTroubles: async () => new Map(),
      alerts: () => [],
      managedCertificate: () => null,
      crlFields: () => ({}),
    },
    ref: (id: string, parentId?: string) => renderer.ref(id, parentId),
  } as unknown as KnownHere);
  const ask = () => problems.find(100, { principal: { apiKeyId: '', scopes: ['*'] } });

  test('lets the event loop turn, and counts all of them', async () => {
    let turns = 0;
    const ticking = setInterval(() => {
      turns += 1;
    }, 0);
    const { problems: found, counts } = await ask();
    clearInterval(ticking);
    assert.deepEqual([found.length, counts.hint], [100, 10_000]);
    assert.ok(turns > 1, `${turns} turns`);
  });

  test('answers from the last run for a few seconds, until something changes', async () => {
    replica.runs = 0;
    await ask();
    assert.equal(replica.runs, 0);
    replica.revision += 1;
    await Promise.all([ask(), ask(), ask()]);
    assert.equal(replica.runs, 1);
    const running = ask();
    clock.now += 5_000;
    // The first is answered from memory, and the others share one run.
    await Promise.all([running, ask(), ask()]);
    assert.equal(replica.runs, 2);
    clock.now += 6_000;
    const before = ask();
    replica.revision += 1;
    const later = ask();
    await Promise.all([before, later]);
    // The run that had begun may not know of the change.
    assert.equal(replica.runs, 4);
  });
});
