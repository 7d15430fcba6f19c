import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import type { JsonValue } from '../../src/kit/json.ts';
import { TestWorld } from '../support/test-world.ts';
import { FURNISHED_ENV, FurnishedWorld } from './furnished-world.ts';

const world = await TestWorld.open({ after }, { env: FURNISHED_ENV });
const furnished = await FurnishedWorld.furnish(world);
const LEGACY = { version: null, headers: { 'ngrok-version': '2' } };

/**
 * Fields that the clients of the retired service cannot do without, by type. Rust's (ngrok-api 0.12.1) rejects a whole
 * list if one is absent or null; Python's (ngrok-api 0.19.0) fails when an absent one is read.
 */
const NEEDED: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  '/endpoints': {
    string: [
      ...['id', 'region', 'created_at', 'updated_at', 'public_url', 'proto', 'scheme', 'hostport', 'host', 'type'],
      ...['metadata', 'description', 'upstream_url', 'upstream_protocol', 'url', 'traffic_policy', 'uri', 'name'],
    ],
    number: ['port'],
    boolean: ['pooling_enabled'],
    present: ['domain', 'tcp_addr', 'tunnel', 'edge', 'principal', 'bindings', 'tunnel_session'],
  },
  '/tunnels': {
    string: ['id', 'public_url', 'started_at', 'metadata', 'proto', 'region', 'forwards_to'],
    ref: ['tunnel_session'],
  },
  '/tunnel_sessions': {
    string: ['agent_version', 'id', 'ip', 'metadata', 'os', 'region', 'started_at', 'transport', 'uri'],
    ref: ['credential'],
  },
  '/app/sessions': {
    string: [
      ...['id', 'uri', 'public_url', 'created_at', 'last_active', 'expires_at', 'browser_session.ip_address'],
      ...['raw', 'browser_name', 'browser_version', 'device_type', 'os_name', 'os_version'].map(
        (name) => `browser_session.user_agent.${name}`,
      ),
    ],
  },
  '/app/users': {
    string: [
      ...['id', 'uri', 'provider_user_id', 'username', 'email', 'name', 'created_at', 'last_active', 'last_login'],
      ...['identity_provider.name', 'identity_provider.url'],
    ],
  },
};

suite('requests with Ngrok-Version get the fields that strict clients need, in lists and alone', () => {
  for (const [path, types] of Object.entries(NEEDED)) {
    test(path, async () => {
      const list = await world.api('GET', path, undefined, LEGACY);
      const [items] = Object.values(list.body).filter(Array.isArray);
      assert.ok(items !== undefined && items.length > 0, list.text);
      for (const item of items) {
        const alone = await world.api('GET', `${path}/${item.id}`, undefined, LEGACY);
        for (const [type, names] of Object.entries(types))
          for (const name of names)
            for (const shown of [item, alone.body])
              assert.ok(isOfType(valueAt(shown, name), type), `${name} of ${JSON.stringify(shown)} is no ${type}`);
      }
    });
  }
});

test('other requests get no public_url and no proto of a labelled tunnel, as the interface says', async () => {
  const { body } = await world.api('GET', `/tunnels/${furnished.id('tn')}`);
  assert.deepEqual(['public_url' in body, 'proto' in body], [false, false]);
});

test('the parts of the URL of an endpoint agree with it', async () => {
  const { body } = await world.api('GET', '/endpoints');
  const edge = body.endpoints.find(({ type }: { type: string }) => type === 'edge');
  assert.deepEqual(
    [edge.url, edge.scheme, edge.host, edge.port, edge.tunnel, edge.edge.id],
    ['https://furnished.localhost', 'https', 'furnished.localhost', 443, null, furnished.id('edghts')],
  );
  assert.deepEqual((await world.api('GET', edge.uri)).body, edge);
});

function valueAt(item: JsonValue, name: string): JsonValue | undefined {
  return name.split('.').reduce<JsonValue | undefined>((at, step) => (at as Record<string, JsonValue>)[step], item);
}

function isOfType(value: JsonValue | undefined, type: string): boolean {
  if (type === 'present') return value !== undefined;
  if (type === 'ref') return typeof (value as { id?: string } | null)?.id === 'string';
  return typeof value === type;
}
