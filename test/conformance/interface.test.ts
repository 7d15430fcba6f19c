import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { createCatalog } from '../../src/control/documents/catalog.ts';
import type { Documents } from '../../src/control/documents/documents.ts';
import { operationsOf } from '../../src/control/documents/operations.ts';
import { resources } from '../../src/control/resources/registry.ts';
import { modules } from '../../src/modules/registry.ts';
import type { ApiAnswer, TestWorld } from '../support/test-world.ts';
import { assertApiError, assertRefused, assertUnmoved } from './api-error.ts';
import { onBothEngines } from './engine-worlds.ts';
import { type InterfaceCase, interfaceCases, usualParams } from './interface-cases.ts';
import { type OperationRow, operationRow, operationRows } from './interface-document.ts';
import { createParents, newId, type Parents } from './interface-parents.ts';
import { assertShape, refsIn, type ShapeName, unseenFields } from './interface-shapes.ts';

const MODULE_ROWS = operationRows.filter((row) => row.section === '4.1' || row.section === '4.2');

test('section 4: every operation row is walked with its success status', () => {
  assert.equal(operationRows.length, 19, 'the tables of section 4 were read');
  for (const { operation } of operationRows) {
    const isWalked = interfaceCases.some(({ row, status }) => row === operation && status === undefined);
    assert.ok(isWalked, `the walk leaves out "${operation}"`);
  }
});

test('section 4: every operation row is an operation of the API', () => {
  const served = operationsOf(createCatalog(resources, modules), {} as Documents);
  for (const row of operationRows) {
    const operation = served.find(({ method, path }) => method === row.method && path === row.path);
    assert.ok(operation, `${row.method} ${row.path} is served`);
    assert.equal(operation.success.status, row.successStatus, row.operation);
    assert.equal(operation.body !== undefined, row.body !== 'none', `${row.operation} takes a body`);
  }
});

test('section 1: each module has Replace, Get and Delete on one fixed path', () => {
  const byPath = Map.groupBy(MODULE_ROWS, (row) => row.path);
  assert.equal(byPath.size, 4);
  for (const [path, rows] of byPath) {
    const statuses = rows.map((row) => `${row.method} ${row.successStatus}`).sort();
    assert.deepEqual(statuses, ['DELETE 204', 'GET 200', 'PUT 200'], path);
  }
});

onBothEngines('the interface', (world) => {
  let parents: Parents;
  before(async () => {
    parents = await createParents(world());
  });

  for (const each of interfaceCases) {
    const row = operationRow(each.row);
    const status = each.status ?? row.successStatus;
    test(`${row.section} ${row.operation}: ${each.title} → ${status}`, async () => {
      const answer = await send(world(), row, each, parents);
      assert.match(answer.headers.get('postern-operation-id') ?? '', /^op_[0-9A-Za-z]{27}$/);
      if (status >= 400) {
        assertApiError(answer, { status });
        return;
      }
      assert.equal(answer.status, status, answer.text);
      if (status === 204) {
        assert.equal(answer.text, '');
        assert.equal(answer.headers.get('content-type'), null);
        return;
      }
      const isLegacy = each.options?.headers?.['ngrok-version'] !== undefined;
      if (!isLegacy) assertShape(shapeOf(row), answer.body);
      if (each.answer !== undefined) assert.deepEqual(answer.body, each.answer(parents, world().baseUrl));
      each.check?.(answer, parents);
      await assertUrisResolve(world(), answer);
      if (row.method === 'PUT') await assertReadsBackAndPutsBack(world(), fill(row, each, parents), answer);
    });
  }

  test('2.5 tunnel list: following next_page_uri verbatim shows every tunnel once', async () => {
    const all = await world().api('GET', '/tunnels');
    const pages: { id: string }[] = [];
    let next: string | null = '/tunnels?limit=1';
    while (next !== null) {
      const page: ApiAnswer = await world().api('GET', next);
      assertShape('Tunnel list envelope', page.body);
      assert.equal(page.body.uri, `${world().baseUrl}/tunnels`);
      assert.equal(page.body.tunnels.length, 1);
      pages.push(...page.body.tunnels);
      next = page.body.next_page_uri;
    }
    assert.deepEqual(pages, all.body.tunnels);
  });

  test('2.5 tunnel list: the cursor may be deleted, and beforeId is before_id', async () => {
    const cursor = parents.tunnels.expired;
    const snake = await world().api('GET', `/tunnels?before_id=${cursor}`);
    const camel = await world().api('GET', `/tunnels?beforeId=${cursor}`);
    assert.equal(snake.body.tunnels.length, 6);
    assert.deepEqual(camel.body, snake.body);
  });

  test('2.5 backends: the group shows the same membership in reverse', async () => {
    const group = await world().api('GET', parents.newerGroup.uri);
    assert.deepEqual(
      group.body.tunnels.map((ref: { id: string }) => ref.id),
      [parents.tunnels.labelled],
    );
  });

  test('4.1: a module on a missing route, or under the wrong edge, is not found', async () => {
    const { edge, otherEdge, route } = parents;
    const absent = [
      { edge_id: otherEdge.id, id: route.id },
      { edge_id: newId('edghts'), id: route.id },
      { edge_id: edge.id, id: newId('edghtsrt') },
      { edge_id: route.id, id: edge.id },
    ];
    for (const row of MODULE_ROWS.filter(({ section }) => section === '4.1')) {
      // The operation exists, at the right address.
      const set = await world().api('PUT', fillPath(row.path, usualParams(row.path, parents)), validBody(row, parents));
      assert.equal(set.status, 200, set.text);
      for (const params of absent) {
        const body = row.method === 'PUT' ? validBody(row, parents) : undefined;
        await assertRefused(world(), () => world().api(row.method, fillPath(row.path, params), body), { status: 404 });
      }
    }
  });

  test('4.2: a module on a missing edge is not found', async () => {
    for (const row of MODULE_ROWS.filter(({ section }) => section === '4.2')) {
      for (const id of [newId('edghts'), parents.subscription.id, 'word']) {
        const body = row.method === 'PUT' ? validBody(row, parents) : undefined;
        await assertRefused(world(), () => world().api(row.method, fillPath(row.path, { id }), body), { status: 404 });
      }
    }
  });

  test('5.1: every row rejects a request without a key, and one with an unknown key', async () => {
    for (const row of operationRows.slice(0, 8)) {
      const path = fillPath(row.path, { ...usualParams(row.path, parents), type: 'x' });
      const answer = await assertRefused(world(), () => world().api(row.method, path, undefined, { key: null }), {
        status: 401,
        says: 'Authorization: Bearer',
      });
      assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
    }
    const wrong = await world().api('GET', '/tunnels', undefined, { key: 'no-such-key-0123456789abcdefghijk' });
    assertApiError(wrong, { status: 401, says: 'the API key is not known' });
  });

  test('5.2 and 9: every row needs Service-Version 2; only tunnels know version 0', async () => {
    for (const row of operationRows) {
      const path = fillPath(row.path, { ...usualParams(row.path, parents), id: parents.tunnels.http });
      for (const version of [null, '1', '3', 'two']) {
        await assertRefused(world(), () => world().api(row.method, path, undefined, { version }), {
          status: 400,
          code: 'ERR_POSTERN_VERSION',
          says: 'send "Service-Version: 2"',
        });
      }
      if (row.path.startsWith('/tunnels')) continue;
      await assertRefused(world(), () => world().api(row.method, path, undefined, { version: '0' }), {
        status: 400,
        code: 'ERR_POSTERN_VERSION',
      });
    }
  });

  test('5.3: every row with a body accepts only application/json', async () => {
    for (const row of operationRows.filter(({ body }) => body !== 'none')) {
      const path = fillPath(row.path, usualParams(row.path, parents));
      const request = () => world().api(row.method, path, {}, { headers: { 'content-type': 'text/plain' } });
      await assertRefused(world(), request, { status: 415, says: 'Content-Type: application/json' });
    }
  });

  test('6: an added source makes the subscription trigger, a removed one does not', async () => {
    const events = () => world().store.events.count();
    const sources = `/event_subscriptions/${parents.subscription.id}/sources`;
    const start = await events();
    await world().api('POST', '/ip_policies', {});
    assert.equal(await events(), start, 'nobody asked');
    await world().api('POST', sources, { type: 'ip_policy_created.v0' });
    const policy = await world().api('POST', '/ip_policies', {});
    assert.equal(await events(), start + 1);
    await world().api('PATCH', policy.body.uri, { description: 'changed' });
    assert.equal(await events(), start + 1, 'not for a type that is not in the set');
    await world().api('DELETE', `${sources}/ip_policy_created.v0`);
    await world().api('POST', '/ip_policies', {});
    assert.equal(await events(), start + 1);
  });

  test('6 and 9: event types carry their version as a suffix, including the two that were seen', async () => {
    const { body } = await world().api('GET', '/event_types');
    const types: string[] = body.event_types.map(({ type }: { type: string }) => type);
    for (const type of types) assert.match(type, /^[a-z]+(_[a-z]+)*\.v0$/);
    for (const seen of ['ip_policy_created.v0', 'ip_policy_updated.v0']) assert.ok(types.includes(seen));
    assert.equal(new Set(types).size, types.length);
  });

  test('8: inactivity_timeout and maximum_duration are uint32', async () => {
    const path = fillPath(operationRow('Replace OIDC module').path, usualParams('/routes/', parents));
    for (const field of ['inactivity_timeout', 'maximum_duration']) {
      for (const value of [0, 1, 4_294_967_295]) {
        const answer = await world().api('PUT', path, { [field]: value });
        assert.equal(answer.body[field], value);
      }
      for (const value of [-1, 4_294_967_296, 1.5, '60', true, 1e300]) {
        await assertRefused(world(), () => world().api('PUT', path, { [field]: value }), {
          status: 400,
          field: `/${field}`,
          says: /0 to 4294967295/,
        });
      }
    }
  });
});

test('section 2: every response field of the tables was seen', () => {
  assert.deepEqual(unseenFields(), []);
});

function send(world: TestWorld, row: OperationRow, each: InterfaceCase, parents: Parents): Promise<ApiAnswer> {
  return world.api(row.method, `${fill(row, each, parents)}${each.query ?? ''}`, each.body?.(parents), each.options);
}

function fill(row: OperationRow, each: InterfaceCase, parents: Parents): string {
  return fillPath(row.path, { ...usualParams(row.path, parents), ...each.params?.(parents) });
}

function fillPath(path: string, params: Readonly<Record<string, string>>): string {
  return path.replaceAll(/\{([^}]+)\}/g, (_, name: string) => params[name] ?? assert.fail(`${path} needs ${name}`));
}

function validBody(row: OperationRow, parents: Parents): unknown {
  if (row.path.endsWith('/backend')) return { backend_id: parents.backends['static']?.id };
  return row.path.endsWith('/mutual_tls') ? { certificate_authority_ids: [parents.authorities[0]?.id] } : {};
}

function shapeOf({ operation }: OperationRow): ShapeName {
  if (operation === 'List tunnels') return 'Tunnel list envelope';
  if (operation === 'Get tunnel') return 'Tunnel';
  if (operation === 'List event sources') return 'Event source list envelope';
  if (operation.endsWith('event source')) return 'Event source';
  if (operation.includes('OIDC')) return 'OIDC module';
  if (operation.includes('backend')) return 'Backend module';
  return operation.includes('compression') ? 'Compression module' : 'Mutual TLS module';
}

/** A Ref's uri leads to the resource with the Ref's id; a response's own uri leads to the same response. */
async function assertUrisResolve(world: TestWorld, answer: ApiAnswer): Promise<void> {
  for (const ref of refsIn(answer.body)) {
    const found = await world.api('GET', ref.uri);
    assert.equal(found.status, 200, `${ref.uri}: ${found.text}`);
    assert.equal(found.body.id, ref.id);
  }
  const { uri, next_page_uri: nextPage } = answer.body;
  if (typeof uri !== 'string' || typeof nextPage === 'string') return;
  const same = await world.api('GET', uri);
  assert.equal(same.status, 200, uri);
  if (answer.body.tunnels === undefined) assert.deepEqual(same.body, answer.body);
}

/** A PUT value reads back unchanged, and putting it back, bare or wrapped as generated clients do, changes nothing. */
async function assertReadsBackAndPutsBack(world: TestWorld, path: string, put: ApiAnswer): Promise<void> {
  const read = await world.api('GET', path);
  assert.deepEqual(read.body, put.body);
  assert.match(read.headers.get('etag') ?? '', /^"\d+"$/);
  assert.equal(read.headers.get('etag'), put.headers.get('etag'));
  const params = Object.fromEntries(
    [...path.matchAll(/\/(edghts(?:rt)?_\w+)/g)].map(([, id], index, all) => [
      index === all.length - 1 ? 'id' : 'edge_id',
      id as string,
    ]),
  );
  for (const body of [
    read.body,
    { module: read.body },
    { ...params, module: read.body },
    { ...params, ...read.body },
  ]) {
    const again = await assertUnmoved(world, () => world.api('PUT', path, body));
    assert.equal(again.status, 200, again.text);
    assert.deepEqual(again.body, read.body);
    assert.equal(again.headers.get('etag'), read.headers.get('etag'));
    assert.equal(again.headers.get('postern-revision'), put.headers.get('postern-revision'));
  }
}
