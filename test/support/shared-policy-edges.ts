import type { Store } from '../../src/store/store.ts';

export const SHARED_POLICY = idOf('ipp', 'policy');
export const SHARED_RULE = idOf('ipr', 'rule');
const SHARED_BACKEND = idOf('bkdhr', 'backend');

interface Put {
  readonly kind: string;
  readonly id: string;
  readonly parent: string | null;
  readonly doc: object;
}

/** In the form of ids that the API accepts. */
function idOf(prefix: string, name: string): string {
  return `${prefix}_${name.padStart(27, '0')}`;
}

export function hostOf(at: number): string {
  return `shared-${at}.localhost`;
}

export function edgeIdOf(at: number): string {
  return idOf('edghts', String(at));
}

/** The address that the policy's only rule allows. */
export function ruleDoc(cidr: string): Put {
  const doc = { description: '', metadata: '', cidr, action: 'allow', ip_policy_id: SHARED_POLICY };
  return { kind: 'ip_policy_rule', id: SHARED_RULE, parent: SHARED_POLICY, doc };
}

export async function put(store: Store, ...puts: readonly Put[]): Promise<number> {
  const result = await store.commit({
    puts: puts.map((each) => ({ ...each, doc: each.doc as never, secrets: null, uniqueKeys: [], references: [] })),
  });
  if (!result.ok) throw new Error(`not stored: ${result.reason}`);
  return result.revision;
}

/** Edges written directly to the store, with one route each, all sharing a policy and a backend. */
export async function putSharedPolicyEdges(store: Store, count: number): Promise<void> {
  await put(
    store,
    { kind: 'ip_policy', id: SHARED_POLICY, parent: null, doc: { description: '', metadata: '' } },
    ruleDoc('127.0.0.1/32'),
    {
      kind: 'http_response_backend',
      id: SHARED_BACKEND,
      parent: null,
      doc: { description: '', metadata: '', body: 'shared', headers: {}, status_code: 200 },
    },
  );
  const chunk = 500;
  for (let from = 0; from < count; from += chunk) {
    const puts = Array.from({ length: Math.min(chunk, count - from) }, (_, index) => edgePuts(from + index));
    await put(store, ...puts.flat());
  }
}

function edgePuts(at: number): readonly Put[] {
  const edgeId = edgeIdOf(at);
  const routeId = idOf('edghtsrt', String(at));
  const named = { description: '', metadata: '' };
  return [
    { kind: 'https_edge', id: edgeId, parent: null, doc: { ...named, hostports: [`${hostOf(at)}:443`] } },
    { kind: 'https_edge_route', id: routeId, parent: edgeId, doc: { ...named, match: '/', match_type: 'path_prefix' } },
    {
      kind: 'https_edge_route.backend',
      id: `${routeId}.backend`,
      parent: routeId,
      doc: { enabled: true, backend_id: SHARED_BACKEND },
    },
    {
      kind: 'https_edge_route.ip_restriction',
      id: `${routeId}.ip_restriction`,
      parent: routeId,
      doc: { enabled: true, ip_policy_ids: [SHARED_POLICY] },
    },
  ];
}
