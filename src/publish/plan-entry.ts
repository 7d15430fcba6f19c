import type { HttpsEdgeRoute } from '../client/generated/https-edge-routes.ts';
import type { JsonObject } from '../lib/json.ts';
import { GUARDS, LOGIN_MODULE, RULES_MODULE, replacedLogin } from './edge-login.ts';
import type { EdgeOperation } from './edge-operation.ts';
import { peopleText, ruleOf } from './people-rules.ts';
import { ADDRESS_MODULE, createPolicy } from './plan-addresses.ts';
import type { WantedEdge } from './wanted-edge.ts';

/** Who may enter a route that exists, instead of the people who may now: login, rules and addresses are replaced together. */
export function planEntry(wanted: WantedEdge, edgeId: string, route: HttpsEdgeRoute): readonly EdgeOperation[] {
  const { host, login, addresses = [], guests } = wanted;
  const path = `/edges/https/${edgeId}/routes/${route.id}`;
  const allow: JsonObject[] = [
    ...(peopleText(wanted) === null ? [] : [ruleOf(wanted)]),
    ...(guests === undefined ? [] : [{ guests: true }]),
  ];
  const bodies: Readonly<Record<string, JsonObject | null>> = {
    [LOGIN_MODULE]: login === null ? null : replacedLogin(login, route),
    [RULES_MODULE]: allow.length === 0 ? null : { allow },
    [ADDRESS_MODULE]: addresses.length === 0 ? null : { ip_policy_ids: [{ $ref: 0, field: 'id' }] },
  };
  const operations: EdgeOperation[] =
    addresses.length === 0 ? [] : [...createPolicy(addresses, `${host}${route.match}`, 0)];
  for (const name of [...GUARDS.map(([guard]) => guard), ADDRESS_MODULE] as const) {
    const body = bodies[name] ?? null;
    if (body !== null) operations.push({ method: 'PUT', path: `${path}/${name}`, body });
    else if (route[name] !== null) operations.push({ method: 'DELETE', path: `${path}/${name}` });
  }
  if (guests !== undefined) {
    const { label, expiresAt, maxBrowsers } = guests;
    const link = { edge_id: edgeId, route_id: route.id, host, label };
    operations.push({
      method: 'POST',
      path: '/guest_links',
      body: { ...link, expires_at: expiresAt, max_browsers: maxBrowsers },
    });
  }
  return operations;
}
