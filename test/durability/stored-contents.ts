import assert from 'node:assert/strict';
import type { EdgeWorld } from '../support/edge-world.ts';

/** Collections whose objects the store keeps until somebody changes them. */
const COLLECTIONS = [
  '/edges/https',
  '/backends/failover',
  '/backends/http_response',
  '/backends/static',
  '/backends/tunnel_group',
  '/backends/weighted',
  '/certificate_authorities',
  '/tls_certificates',
  '/reserved_domains',
  '/managed_certificates',
  '/ip_policies',
  '/ip_policy_rules',
  '/changes',
  '/credentials',
  '/api_keys',
  '/event_subscriptions',
  '/event_destinations',
  '/event_deliveries',
  '/guest_links',
  '/app/users',
  '/service_accounts',
  '/service_account_tokens',
  '/console/sessions',
  '/user_accounts',
  '/oidc_clients',
];

/** Objects as the API shows them, by the path of their list. */
export type StoredContents = Readonly<Record<string, readonly Record<string, unknown>[]>>;

/** Everything that a store holds, as the API shows it to somebody who may read secrets. */
export async function storedContents({ world }: Pick<EdgeWorld, 'world'>): Promise<StoredContents> {
  const list = async (path: string): Promise<readonly Record<string, unknown>[]> => {
    const { status, text } = await world.api('GET', `${path}?limit=100`);
    assert.equal(status, 200, path);
    // Every start of a test has another port; delivered events keep that of their own.
    const body = JSON.parse(text.replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, 'http://server')) as Record<string, unknown>;
    return Object.values(body).find((value) => Array.isArray(value)) ?? assert.fail(`${path} is no list`);
  };
  const contents: Record<string, readonly Record<string, unknown>[]> = {};
  for (const path of COLLECTIONS) contents[path] = await list(path);
  const ids = (contents['/user_accounts'] ?? []).map(({ id }) => String(id));
  contents['passkeys'] = (await Promise.all(ids.map((id) => list(`/user_accounts/${id}/passkeys`)))).flat();
  return contents;
}

/** A later version may add fields. It may neither lose nor change what was stored. */
export function assertKept(contents: StoredContents, before: StoredContents): void {
  for (const [path, items] of Object.entries(before)) {
    assert.ok(items.length > 0, `the fixture has nothing at ${path}`);
    const found = new Map(contents[path]?.map((item) => [idOf(item), item]));
    for (const item of items) assert.partialDeepStrictEqual(found.get(idOf(item)) ?? null, item, path);
  }
}

/** Changes are named by their revision. */
function idOf(item: Readonly<Record<string, unknown>>): unknown {
  return item['id'] ?? item['revision'];
}
