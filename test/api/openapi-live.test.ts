import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { backends } from '../../src/backends/registry.ts';
import type { ResponseObject } from '../../src/control/api/openapi/document.ts';
import type { JsonObject } from '../../src/kit/json.ts';
import { type ApiAnswer, TestWorld } from '../support/test-world.ts';
import {
  DocumentChecker,
  type DocumentedOperation,
  documentedOperations,
  makeDocument,
  successOf,
} from './openapi-document.ts';
import { Scenario } from './openapi-scenario.ts';

/** Ordered so that each finds what its example refers to: examples of backends name static ones. */
const BACKENDS = new Set(['static', ...backends.map(({ name }) => name)]);
const CREATES = [
  ...[...BACKENDS].map((name) => `${name}.create`),
  'certificate_authorities.create',
  'tls_certificates.create',
  'reserved_domains.create',
  'ip_policies.create',
  'ip_policy_rules.create',
  'ip_policy_lists.create',
  'credentials.create',
  'agent_invitations.create',
  'api_keys.create',
  'service_accounts.create',
  'service_account_tokens.create',
  'user_accounts.create',
  'oidc_clients.create',
  'https_edges.create',
  'https_edge_routes.create',
  'guest_links.create',
  'event_destinations.create',
  'event_subscriptions.create',
];
/** Operations that cannot succeed yet, with the expected status. */
const CANNOT_SUCCEED = new Map([
  ['event_destinations.test', 503],
  // The change of the scenario does not wait.
  ['changes.confirm', 409],
  ['changes.revert', 409],
]);
const SECOND_BACKEND = 'bkdsc_2zXAMPLEbackendOfTheDocsAAB';

const document = makeDocument();
const checker = new DocumentChecker(document, 'closed');
const documented = documentedOperations(document).filter(
  ({ path }) => !['/docs', '/healthz', '/metrics', '/openapi.json'].includes(path),
);
const answered = new Set<string>();
const world = await TestWorld.open({ after }, { env: { POSTERN_IDENTITY_HOST: 'id.example.com' } });
const scenario = await Scenario.open(world);

test('creates respond as documented to the documented example', async () => {
  const second = await world.api('POST', '/backends/static', { address: '10.0.0.6:3000' });
  scenario.learn(second.body.id, SECOND_BACKEND);
  const undoable = await world.api('POST', '/ip_policies', { description: 'to undo' });
  scenario.learnRevision(undoable.headers.get('postern-revision'));
  for (const id of CREATES) {
    const answer = await callWithExample(operation(id));
    scenario.learn(answer.body.id);
  }
  const [credential] = (await world.api('GET', '/credentials?limit=1')).body.credentials;
  await scenario.feedLiveState(credential.id);
});

const LOGIN_BEFORE: Readonly<Record<string, string>> = {
  'https_edge_routes.oidc.replace': 'https_edge_routes.basic_auth.replace',
  'https_edge_routes.oauth.replace': 'https_edge_routes.oidc.replace',
};

test('modules, changes and actions respond as documented to the documented example', async () => {
  for (const each of documented.filter(({ method }) => method === 'PUT' || method === 'PATCH')) {
    // A route has one enabled login.
    const before = LOGIN_BEFORE[each.id];
    if (before !== undefined) await call(operation(before), { enabled: false });
    await callWithExample(each);
  }
  for (const each of documented.filter(({ method, id }) => method === 'POST' && !CREATES.includes(id))) {
    // The example's subscription already has the example's type.
    if (each.id === 'event_sources.create') await call(each, { type: 'ip_policy_updated.v0' });
    else await callWithExample(each);
  }
});

test('reads respond as documented', async () => {
  for (const each of documented.filter(({ method }) => method === 'GET')) {
    const answer = await callWithExample(each);
    if (!each.id.endsWith('.list')) continue;
    const items = Object.values(answer.body).find(Array.isArray) ?? [];
    assert.ok(items.length > 0, `${each.id} shows nothing`);
  }
});

test('each operation rejects as documented', async () => {
  for (const each of documented) {
    const path = scenario.path(each);
    const send = (options: Parameters<TestWorld['api']>[3], url = path): Promise<ApiAnswer> =>
      world.api(each.method, url, undefined, options);
    check(each, await send({ version: null }), 400);
    check(each, await send({ version: '7' }), 400);
    check(each, await send({}, `${path}?misspelled=1`), 400);
    const example = JSON.stringify(scenario.body(each.requestExample ?? {}));
    if (each.path.includes('{')) {
      const elsewhere = path.replace(/_[0-9A-Za-z]{27}/, `_${'0'.repeat(27)}`).replace(/\/changes\/\d+/, '/changes/0');
      check(each, await send(each.method === 'GET' ? {} : { rawBody: example }, elsewhere), 404);
    }
    if (each.requestSchema !== undefined) {
      check(each, await send({ rawBody: '{' }), 400);
      check(each, await send({ rawBody: '{"misspelled":1}' }), 400);
      check(each, await send({ rawBody: '{}', headers: { 'content-type': 'text/plain' } }), 415);
      // A changeset may have 64 MiB.
      if (each.id !== 'changesets.create') {
        check(each, await send({ rawBody: `{"a":"${'x'.repeat(1_100_000)}"}` }), 413);
      }
    }
    if (hasHeader(each, 'If-Match')) {
      check(each, await send({ rawBody: '{}', headers: { 'if-match': 'unquoted' } }), 400);
      check(each, await send({ rawBody: example, headers: { 'if-match': '"1"' } }), 412);
    }
  }
});

test('an unknown key and a key without the scope are rejected as documented', async () => {
  const limited = await world.api('POST', '/api_keys', { scopes: ['event_types:write'] });
  // Each write of a changeset needs its own scope, and each kind of resource that a search, a check or a list of owners
  // names.
  for (const each of documented.filter(({ id }) => !/^(changesets|problems|search)\./.test(id))) {
    check(each, await world.api(each.method, scenario.path(each), undefined, { key: limited.body.token }), 403);
  }
  // One is enough: failures from one address are increasingly delayed.
  check(
    operation('https_edges.get'),
    await world.api('GET', scenario.path(operation('https_edges.get')), undefined, { key: null }),
    401,
  );
});

test('an unknown path and a wrong method are rejected as documented', async () => {
  const nowhere = operation('https_edges.list');
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } };
  const explained = document.components.schemas['Error']?.['description'] as string;
  const refusals = [
    { answer: await world.api('GET', '/edges/htps'), code: 'ERR_POSTERN_UNKNOWN_PATH', status: 404 },
    { answer: await world.api('DELETE', '/edges/https'), code: 'ERR_POSTERN_METHOD_NOT_ALLOWED', status: 405 },
  ];
  for (const { answer, code, status } of refusals) {
    assert.equal(answer.body.error_code, code);
    assert.ok(explained.includes(`- \`${code}\` (${status}): `), code);
    const headers: ResponseObject['headers'] = status === 405 ? { Allow: { $ref: '' } } : {};
    check({ ...nowhere, responses: new Map([[status, { description: '', headers, content }]]) }, answer, status);
  }
});

test('conflicts respond as documented', async () => {
  const edge = operation('https_edges.create');
  check(edge, await world.api('POST', edge.path, scenario.body(edge.requestExample ?? {})), 409);
  check(operation('static.delete'), await world.api('DELETE', scenario.path(operation('static.delete'))), 409);
  const keys = operation('api_keys.list');
  for (const { id } of (await world.api('GET', keys.path)).body.keys) {
    const answer = await world.api('DELETE', `/api_keys/${id}`);
    check(operation('api_keys.delete'), answer, answer.status);
    if (answer.status === 409) return;
  }
  assert.fail('the last key with all scopes went');
});

test('deletes respond as documented, and every operation has responded', async () => {
  const deletes = documented.filter(({ method }) => method === 'DELETE');
  const order = ['event_sources.delete', ...[...CREATES].reverse().map((id) => id.replace('.create', '.delete'))];
  const rank = (id: string): number => (order.includes(id) ? order.indexOf(id) : -1);
  for (const each of deletes.sort((a, b) => rank(a.id) - rank(b.id))) {
    if (each.id === 'api_keys.delete') {
      const made = await world.api('POST', '/api_keys', {});
      scenario.learn(made.body.id);
    }
    await callWithExample(each);
  }
  assert.deepEqual(
    documented.map(({ id }) => id).filter((id) => !answered.has(id)),
    [],
  );
});

async function callWithExample(each: DocumentedOperation): Promise<ApiAnswer> {
  return call(each, each.requestExample === undefined ? undefined : scenario.body(each.requestExample));
}

async function call(each: DocumentedOperation, body: unknown): Promise<ApiAnswer> {
  const answer = await world.api(each.method, scenario.path(each), body);
  const [success] = successOf(each);
  check(each, answer, CANNOT_SUCCEED.get(each.id) ?? success);
  answered.add(each.id);
  return answer;
}

/** The status, all of our headers and all fields are documented. */
function check(each: DocumentedOperation, answer: ApiAnswer, status: number): void {
  assert.equal(answer.status, status, `${each.id}: ${answer.text}`);
  const isListed = each.responses.has(status);
  const response =
    each.responses.get(isListed ? status : 'default') ??
    assert.fail(`${each.id} does not document ${status}: ${answer.text}`);
  assert(isListed || status >= 400, `${each.id} does not document ${status}`);
  const media = response.content?.['application/json'];
  if (media === undefined) assert.equal(answer.text, '', each.id);
  else assert.deepEqual(checker.problems(media.schema as JsonObject, answer.body), [], `${each.id} ${answer.text}`);
  const known = ['etag', 'location', 'postern-revision', 'retry-after', 'www-authenticate', 'allow'];
  const sent = known.filter((header) => answer.headers.has(header));
  assert.match(answer.headers.get('postern-operation-id') ?? '', /^op_/, each.id);
  const promised = Object.keys(response.headers ?? {})
    .map((header) => header.toLowerCase())
    // Reads share the response of writes, and the response "default" has the headers of several statuses.
    .filter((header) => header !== 'postern-revision' || each.method !== 'GET')
    .filter((header) => isListed || answer.headers.has(header));
  // The introduction says it of every 201.
  if (status === 201) promised.push('location');
  // These headers are present only if there is something to report.
  for (const header of ['postern-problem', 'postern-warning']) {
    const at = promised.indexOf(header);
    if (at !== -1) promised.splice(at, 1);
    else assert.equal(answer.headers.get(header), null, `${each.id} ${status}`);
  }
  assert.deepEqual(sent.sort(), promised.sort(), `${each.id} ${status}`);
}

function hasHeader(each: DocumentedOperation, name: string): boolean {
  return each.parameters.some(
    (parameter) => '$ref' in parameter && parameter.$ref.endsWith(`/${name.replace('-', '')}`),
  );
}

function operation(id: string): DocumentedOperation {
  return documented.find((each) => each.id === id) ?? assert.fail(id);
}
