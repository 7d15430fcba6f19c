import { BASE_URL, idsOf, refTo } from './module-writes.ts';
import { create, owned, type Plan, type PlannedWrite, patch, type Workload } from './planned-write.ts';

/** Additional subscriptions never remove what the first one, to everything, wants. */
const SOURCES = ['https_edge_created.v0', 'ip_policy_deleted.v0', 'backend_updated.v0', 'tunnel_start.v0'];

/** Event subscriptions and their sources. */
export const subscriptionPlans: readonly Plan[] = [createSubscription, patchSubscription, addOrRemoveSource];

function createSubscription(workload: Workload): PlannedWrite | null {
  const { random, ledger } = workload;
  if (owned(workload, ['event_subscription']).length >= 2) return null;
  const marker = workload.newMarker();
  const types = random.some(SOURCES, 3);
  const destinations = random.some(idsOf(ledger, ['event_destination']), 2);
  const own = { description: marker, metadata: random.text(20) };
  const body = { ...own, sources: types.map((type) => ({ type })), destination_ids: destinations };
  // The sources' URIs contain the server's id: they are compared once the response arrived.
  const state = { ...own, destinations: destinations.map(refTo) };
  return create('event_subscription', '/event_subscriptions', body, state, [], { marker, refusals: [] });
}

function patchSubscription(workload: Workload): PlannedWrite | null {
  const id = workload.random.pick(owned(workload, ['event_subscription']));
  return id === undefined
    ? null
    : patch(workload, { kind: 'event_subscription', id, path: `/event_subscriptions/${id}`, root: id }, []);
}

function addOrRemoveSource(workload: Workload): PlannedWrite | null {
  const { random, ledger } = workload;
  const id = random.pick(owned(workload, ['event_subscription']));
  if (id === undefined) return null;
  const before = ledger.get('event_subscription', id);
  const sources = (before?.['sources'] ?? []) as { readonly type: string; readonly uri: string }[];
  const type = random.pick(SOURCES) ?? '';
  const path = `/event_subscriptions/${id}/sources`;
  const isThere = sources.some((source) => source.type === type);
  const uri = `${BASE_URL}${path}/${type}`;
  const after = isThere ? sources.filter((source) => source.type !== type) : [...sources, { type, uri }];
  const changes = [{ kind: 'event_subscription', id, state: { ...before, sources: after } }];
  return isThere
    ? { method: 'DELETE', path: `${path}/${type}`, marker: null, changes, refusals: [], root: id }
    : { method: 'POST', path, body: { type }, marker: null, changes, refusals: [], root: id };
}
