import { isJsonObject, type JsonObject, type JsonValue } from '../lib/json.ts';
import type { CheckedEdge, CheckedRoute } from './facts.ts';

/** The configuration of a module on an edge or route, as stored or as the API shows it; null or undefined: not set. */
type ModuleOn = (name: string) => JsonValue | undefined;

export function checkedEdge(
  edge: Pick<CheckedEdge, 'id' | 'hostports'>,
  module: ModuleOn,
  routes: readonly CheckedRoute[],
): CheckedEdge {
  return {
    id: edge.id,
    hostports: edge.hostports,
    clientAuthorities: authorityIds(enabled(module('mutual_tls'))),
    routes,
  };
}

/** Modules of a route that keep strangers out. */
const GUARDS = ['oidc', 'oauth', 'basic_auth', 'ip_restriction'] as const;

interface RouteParts {
  readonly module: ModuleOn;
  readonly ofEdge: ModuleOn;
  readonly upstreamsOf: (backendId: string) => readonly string[];
}

export function checkedRoute(
  { id, match }: Pick<CheckedRoute, 'id' | 'match'>,
  { module, ofEdge, upstreamsOf }: RouteParts,
): CheckedRoute {
  const login = enabled(module('oidc'));
  const rules = enabled(module('access'));
  const backend = enabled(module('backend'));
  const hasAccessRules = ['allow', 'bearer'].some((list) => hasItems(rules?.[list]));
  const isGuarded = enabled(ofEdge('mutual_tls')) !== null || GUARDS.some((name) => enabled(module(name)) !== null);
  return {
    ...{ id, match, hasBackend: backend !== null },
    issuer: login === null ? null : ((login['issuer'] ?? '') as string),
    hasAccessRules,
    isGuarded: isGuarded || hasAccessRules,
    upstreams: backend === null ? [] : upstreamsOf(backend['backend_id'] as string),
  };
}

/** Stored as ids, and shown as references. */
function authorityIds(mutualTls: JsonObject | null): readonly string[] {
  const { certificate_authority_ids: ids, certificate_authorities: refs } = mutualTls ?? {};
  return (ids ??
    (refs as readonly { readonly id: string }[] | undefined)?.map(({ id }) => id) ??
    []) as readonly string[];
}

function hasItems(list: JsonValue | undefined): boolean {
  return Array.isArray(list) && list.length > 0;
}

function enabled(module: JsonValue | undefined): JsonObject | null {
  return isJsonObject(module) && module['enabled'] !== false ? module : null;
}
