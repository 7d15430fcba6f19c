import type { HttpsEdgeRoute } from '../client/generated/https-edge-routes.ts';
import type { JsonObject } from '../lib/json.ts';
import { GUARDS, LOGIN_MODULE, PASSWORD_MODULE, RULES_MODULE, replacedLogin } from './edge-login.ts';
import type { EdgeOperation } from './edge-operation.ts';
import { peopleText, ruleOf } from './people-rules.ts';
import { ADDRESS_MODULE, createPolicy } from './plan-addresses.ts';
import type { WantedEdge, WantedPassword } from './wanted-edge.ts';

/** Who may enter a route that exists, instead of the people who may now: login, rules and addresses are replaced together. */
export function planEntry(wanted: WantedEdge, edgeId: string, route: HttpsEdgeRoute): readonly EdgeOperation[] {
  const { host, login, addresses = [], passwords = [], guests } = wanted;
  const path = `/edges/https/${edgeId}/routes/${route.id}`;
  const allow: JsonObject[] = [
    ...(peopleText(wanted) === null ? [] : [ruleOf(wanted)]),
    ...(guests === undefined ? [] : [{ guests: true }]),
  ];
  const bodies: Readonly<Record<string, JsonObject | null>> = {
    [LOGIN_MODULE]: login === null ? null : replacedLogin(login, route),
    [RULES_MODULE]: allow.length === 0 ? null : { allow },
    [PASSWORD_MODULE]: passwords.length === 0 ? null : passwordsBody(passwords, route),
    [ADDRESS_MODULE]: addresses.length === 0 ? null : { ip_policy_ids: [{ $ref: 0, field: 'id' }] },
  };
  const operations: EdgeOperation[] =
    addresses.length === 0 ? [] : [...createPolicy(addresses, `${host}${route.match}`, 0)];
  for (const name of [...GUARDS.map(([guard]) => guard), PASSWORD_MODULE, ADDRESS_MODULE] as const) {
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

/** What the form does not know stays, such as the name of the area. */
function passwordsBody(passwords: readonly WantedPassword[], route: HttpsEdgeRoute): JsonObject {
  const former = route[PASSWORD_MODULE];
  const users = passwords.map(({ username, password }) => ({ username, password }));
  if (former === null) return { users };
  const { realm, options_passthrough } = former;
  return { users, realm, options_passthrough };
}
