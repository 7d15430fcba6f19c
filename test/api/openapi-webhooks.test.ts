import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import type { OperationObject } from '../../src/api/openapi/document.ts';
import { connectionObject, requestObject } from '../../src/events/traffic-events.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import { FURNISHED_ENV, FurnishedWorld } from '../conformance/furnished-world.ts';
import { TestWorld } from '../support/test-world.ts';
import { catalog, DocumentChecker, makeDocument } from './openapi-document.ts';

const document = makeDocument();
const checker = new DocumentChecker(document, 'closed');

function webhookOf(type: string): OperationObject {
  const found = Object.values(document.webhooks).flatMap(({ post }) =>
    post?.description?.includes(`\`${type}\``) ? [post] : [],
  );
  assert.equal(found.length, 1, type);
  return found[0] as OperationObject;
}

function schemaOf(type: string): JsonObject {
  const { schema } = webhookOf(type).requestBody?.content['application/json'] ?? assert.fail(type);
  return schema;
}

suite('webhooks of the document', () => {
  test('every event type is in one of them, and nothing else', () => {
    const documented = Object.values(document.webhooks).flatMap(({ post }) =>
      Array.from(post?.description?.matchAll(/^- `(.*?)`/gm) ?? [], ([, type]) => type),
    );
    assert.deepEqual(new Set(documented), new Set(catalog.eventTypes.map(({ type }) => type)));
    assert.equal(documented.length, catalog.eventTypes.length);
    for (const { type, scope, description } of catalog.eventTypes) {
      const text = webhookOf(type).description ?? '';
      assert.ok(text.includes(`- \`${type}\`: ${description} Subscribing needs the scope ${scope}.`), text);
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
