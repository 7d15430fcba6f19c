import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { connectionObject, requestObject } from '../../src/control/events/event-recorder.ts';
import type { JsonObject } from '../../src/kit/json.ts';
import { FURNISHED_ENV, FurnishedWorld } from '../conformance/furnished-world.ts';
import { TestWorld } from '../support/test-world.ts';
import { catalog, DocumentChecker, makeDocument, resolve } from './openapi-document.ts';

const document = makeDocument();
const checker = new DocumentChecker(document, 'closed');

/** The schemas of all events, from the body of the one webhook. */
const eventSchemas = ((): readonly JsonObject[] => {
  assert.deepEqual(Object.keys(document.webhooks), ['event']);
  const { schema } = document.webhooks['event']?.post?.requestBody?.content['application/json'] ?? assert.fail();
  return resolve<{ readonly anyOf: readonly JsonObject[] }>(document, schema).anyOf;
})();

function typesOf(schema: JsonObject): readonly string[] {
  const [, own] = resolve<JsonObject>(document, schema)['allOf'] as readonly JsonObject[];
  const { event_type } = (own ?? assert.fail())['properties'] as { event_type: { enum: readonly string[] } };
  return event_type.enum;
}

function schemaOf(type: string): JsonObject {
  const found = eventSchemas.filter((each) => typesOf(each).includes(type));
  assert.equal(found.length, 1, type);
  return found[0] as JsonObject;
}

suite('webhooks of the document', () => {
  test('every event type is in one schema, and nothing else', () => {
    const documented = eventSchemas.flatMap(typesOf);
    assert.deepEqual(documented.toSorted(), catalog.eventTypes.map(({ type }) => type).toSorted());
    for (const { type, scope, description } of catalog.eventTypes) {
      const text = resolve<JsonObject>(document, schemaOf(type))['description'] as string;
      const change = /^(.+ was ).*\b(\w+)\.$/.exec(description) ?? [];
      const isSaid = text.includes(`- \`${type}\`: ${description}\n`) || text.startsWith(`${description}\n\n`);
      assert.ok(isSaid || (text.startsWith(change[1] ?? '-') && text.includes(change[2] ?? '-')), text);
      assert.ok(text.endsWith(`Scope: ${scope}.`), text);
    }
  });

  test('describe the events that changes of every kind produce', async () => {
    const world = await TestWorld.open({ after }, { env: FURNISHED_ENV });
    const furnished = await FurnishedWorld.furnish(world);
    const route = `/edges/https/${furnished.id('edghts')}/routes/${furnished.id('edghtsrt')}`;
    await world.api('PUT', `${route}/oidc`, { issuer: 'https://id.example.com', client_id: 'c', client_secret: 's' });
    await world.api('PATCH', route, { description: 'changed' });
    await world.api('DELETE', `/edges/https/${furnished.id('edghts')}`);
    await world.api('DELETE', `/backends/tunnel_group/${furnished.id('bkdtg')}`);
    const events = await world.store.events.list({ beforeId: null, limit: 1000 });
    const seen = new Set<string>();
    for (const { type, payload } of events) {
      // The furnished delivery has none.
      if (Object.keys(payload).length === 0) continue;
      seen.add(type);
      assert.deepEqual(checker.problems(schemaOf(type), payload), [], `${type}: ${JSON.stringify(payload)}`);
    }
    assert.ok(seen.size >= 16, [...seen].join(' '));
  });

  test('describe the events of traffic', () => {
    const facts = { request_id: 'rq_1', method: 'GET', host: 'h', path: '/p?q', status: 200, client: '192.0.2.1' };
    const sizes = { edge: null, route: null, upstream: null, bytes_in: 1, bytes_out: 2, ms: 3 };
    const ends = { proto: 'tcp', localAddress: 'a', clientAddress: 'c', tunnelId: 't', endpointId: 'e' };
    const counts = { tunnelNode: null, bytesIn: 1, bytesOut: 2, seconds: 0.5, outcome: 'done' };
    const objects = {
      'http_request_complete.v0': requestObject({ ...facts, ...sizes } as never, 'node'),
      'tcp_connection_closed.v0': connectionObject('cn_1', { ...ends, ...counts } as never, 'node'),
    };
    for (const [type, object] of Object.entries(objects)) {
      const event = { event_id: 'ev_1', event_type: type, event_timestamp: '2026-11-01T00:00:00Z', account_id: 'ac_1' };
      assert.deepEqual(checker.problems(schemaOf(type), { ...event, principal: null, object }), [], type);
    }
  });
});
