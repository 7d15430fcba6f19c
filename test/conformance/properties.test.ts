// Process of API inputs: takes long, so it starts early.
import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import fc from 'fast-check';
import type { TSchema } from 'typebox';
import { listStateFields } from '../../src/control/resources/ip_policy_lists/ip-policy-lists.ts';
import { referenceAnnotation } from '../../src/kit/schema/annotations.ts';
import { type ApiAnswer, TestWorld } from '../support/test-world.ts';
import { assertApiError, assertDocumentedCode } from './api-error.ts';
import { arbitraryBody } from './arbitrary-body.ts';
import { bodyOperations, FURNISHED_ENV, FurnishedWorld, nameOf, operations } from './furnished-world.ts';
import { assertReadsBack } from './reads-back.ts';
import { type FieldSchema, fieldSchema } from './wrong-values.ts';

type BodyOperation = (typeof bodyOperations)[number];
type Body = Record<string, unknown>;

const isLong = process.env['POSTERN_TEST_LONG'] !== undefined;
const RUNS = isLong ? 1000 : 3;
const SEED = Number(process.env['POSTERN_TEST_SEED'] ?? Date.now() % 2 ** 31);

const world = await TestWorld.open({ after }, { env: FURNISHED_ENV });
const furnished = await FurnishedWorld.furnish(world);

for (const operation of bodyOperations) {
  test(`${nameOf(operation)}: no body causes a 5xx, and an accepted one reads back unchanged`, async (t) => {
    const schema = fieldSchema(operation.body.schema);
    const counts = { accepted: 0, refused: 0 };
    const judge = async (body: Body): Promise<void> => {
      // The subscription's own property may have removed it.
      if (operation.path.endsWith('/sources/{type}')) await addSource(furnished.params(operation.path));
      await furnished.prepare(operation);
      const before = world.server.replica.revision;
      const answer = await world.api(operation.method, furnished.path(operation), body);
      if (answer.status >= 300) {
        assertApiError(answer, { status: answer.status });
        assertDocumentedCode(operation, answer);
        // 412: a random expected_revision of a changeset.
        const isExpected =
          [400, 409].includes(answer.status) || (operation.resource === 'changesets' && answer.status === 412);
        assert.ok(isExpected, answer.text);
        assert.equal(world.server.replica.revision, before, 'what is refused changes nothing');
        counts.refused += 1;
        return;
      }
      counts.accepted += 1;
      assert.equal(answer.status, operation.success.status, answer.text);
      await assertTaken(operation, schema, body, answer);
    };
    // The edge's own property may have left it several hosts, of which a guest link would have to name one.
    if (operation.path === '/guest_links') await oneHost(furnished.id('edghts'));
    await check(t, arbitraryBody(schema, furnished), judge, [furnished.example(operation)]);
    t.diagnostic(`${counts.accepted} bodies accepted, ${counts.refused} refused`);
    assert.ok(counts.accepted > 0, 'some bodies are accepted, or nothing was shown');
  });
}

test('no bytes cause a 5xx', async (t) => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 60 }),
    fc.json({ maxDepth: 4 }).map((text) => new TextEncoder().encode(text)),
    fc.string({ unit: 'binary', maxLength: 60 }).map((text) => new TextEncoder().encode(text)),
    fc
      .constantFrom(
        '{"enabled":true',
        '{"enabled":true}}',
        '{"a":1,"a":2}',
        '\ufeff{}',
        '{"":{}}',
        '{"x":1e999}',
        '{"x":-0}',
      )
      .map((text) => new TextEncoder().encode(text)),
  );
  await check(t, fc.tuple(fc.constantFrom(...bodyOperations), bytes), async ([operation, rawBody]) => {
    const answer = await world.api(operation.method, furnished.path(operation), undefined, {
      rawBody: Uint8Array.from(rawBody),
    });
    assert.ok(answer.status < 500, answer.text);
    if (answer.status >= 400) assertApiError(answer, { status: answer.status });
  });
});

test('no path and no query causes a 5xx', async (t) => {
  const segment = fc.oneof(
    fc.constantFrom(
      'edges',
      'https',
      'routes',
      'tunnels',
      'oidc',
      'sources',
      'ip_policies',
      '..',
      '.',
      '%2e',
      '%',
      '%00',
      '%ff',
      '*',
      ':id',
      '{id}',
    ),
    fc.string({ unit: 'binary', maxLength: 10 }).map((text) => encodeURIComponent(text.toWellFormed())),
    fc.constantFrom(furnished.id('edghts'), furnished.id('ca'), 'x'.repeat(201)),
  );
  const query = fc.oneof(
    fc.constant(''),
    fc.webQueryParameters().map((text) => `?${text}`),
    fc.constantFrom('?limit=%', '?limit[]=1', '?=', '?&&', '?limit=1;x', '?before_id=%F0'),
  );
  const method = fc.constantFrom('GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS');
  await check(t, fc.tuple(method, fc.array(segment, { maxLength: 6 }), query), async ([verb, segments, search]) => {
    const answer = await world.api(verb, `/${segments.join('/')}${search}`);
    assert.ok(answer.status < 500, answer.text);
    if (answer.status >= 400 && verb !== 'HEAD') assertApiError(answer, { status: answer.status });
  });
});

test('no header causes a 5xx', async (t) => {
  const names = fc.constantFrom(
    'authorization',
    'service-version',
    'ngrok-version',
    'if-match',
    'idempotency-key',
    'content-type',
    'accept',
    'accept-encoding',
    'range',
    'x-http-method-override',
  );
  const value = fc.oneof(
    fc.stringMatching(/^[\x20-\x7e]{0,30}$/),
    fc.constantFrom('"1"', '*', 'W/"1"', 'application/json', ' ', ',', '"', 'bytes=0-1', '\u00e4'),
  );
  await check(
    t,
    fc.tuple(fc.constantFrom(...operations.filter(({ verb }) => verb !== 'test')), names, value),
    async ([operation, name, text]) => {
      // Deleting what the other runs need would make them meaningless.
      if (operation.method === 'DELETE' || name === 'authorization') return;
      const body = operation.method === 'GET' ? undefined : {};
      const answer = await world.api(operation.method, furnished.path(operation), body, { headers: { [name]: text } });
      assert.ok(answer.status < 500, `${nameOf(operation)} ${name}: ${text}: ${answer.text}`);
    },
  );
});

async function assertTaken(
  operation: BodyOperation,
  schema: FieldSchema,
  body: Body,
  answer: ApiAnswer,
): Promise<void> {
  const form = operation.method === 'PATCH' ? 'patch' : 'whole';
  const { uri } = answer.body;
  if (operation.verb === 'replay_matching' || operation.resource === 'event_sources') {
    if (operation.method === 'POST' && uri !== undefined) await world.api('DELETE', uri);
    return;
  }
  // A question, such as whom a rule admits: it stores nothing.
  if (operation.method === 'POST' && uri === undefined) return;
  const path = operation.method === 'POST' ? uri : furnished.path(operation);
  const read = await world.api('GET', path);
  assertReadsBack(schema, body, read.body, form);
  const { operation: sendBack, body: same } = whatCanBeSentBack(operation, read.body);
  const before = world.server.replica.revision;
  const again = await world.api(sendBack, path, same);
  assert.equal(again.status, 200, `${JSON.stringify(same)}: ${again.text}`);
  assert.deepEqual(withoutState(again.body), withoutState(read.body));
  assert.equal(again.headers.get('etag'), read.headers.get('etag'));
  assert.equal(world.server.replica.revision, before, 'sending back what was read changes nothing');
  if (operation.method !== 'POST') return;
  const deleted = await world.api('DELETE', uri);
  assert.equal(deleted.status, 204, deleted.text);
}

/** A list is being loaded meanwhile. */
function withoutState(read: Body): Body {
  return Object.fromEntries(
    Object.entries(read).filter(([name]) => !(name in listStateFields) || !('refresh_minutes' in read)),
  );
}

async function oneHost(edgeId: string): Promise<void> {
  const answer = await world.api('PATCH', `/edges/https/${edgeId}`, { hostports: ['furnished.localhost:443'] });
  assert.equal(answer.status, 200, answer.text);
}

async function addSource({ subscription_id: id, type }: Readonly<Record<string, string>>): Promise<void> {
  await world.api('POST', `/event_subscriptions/${id}/sources`, { type });
}

/** A module is sent back whole; of a resource, only the fields that PATCH accepts. */
function whatCanBeSentBack(operation: BodyOperation, read: Body): { operation: string; body: Body } {
  if (operation.method === 'PUT') return { operation: 'PUT', body: read };
  const item = operation.method === 'POST' ? `${operation.path}/{id}` : operation.path;
  const patch = bodyOperations.find(({ method, path }) => method === 'PATCH' && path === item) as BodyOperation;
  const fields = Object.entries(fieldSchema(patch.body.schema).properties ?? {});
  const names = fields.map(([name, field]) => referenceAnnotation(field as TSchema)?.readAs ?? name);
  const kept = names.filter((name) => read[name] !== undefined);
  return { operation: 'PATCH', body: Object.fromEntries(kept.map((name) => [name, read[name]])) };
}

async function check<Input>(
  t: TestContext,
  arbitrary: fc.Arbitrary<Input>,
  judge: (input: Input) => Promise<void>,
  examples: readonly Input[] = [],
): Promise<void> {
  t.diagnostic(`seed ${SEED} (POSTERN_TEST_SEED), ${RUNS} runs`);
  await fc.assert(fc.asyncProperty(arbitrary, judge), {
    seed: SEED,
    numRuns: RUNS,
    endOnFailure: !isLong,
    examples: examples.map((example): [Input] => [example]),
  });
}
