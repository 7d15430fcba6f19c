import { checkedEdge, checkedRoute } from '../../checks/checked-edge.ts';
import type { CheckedEdge } from '../../checks/facts.ts';
import type { HttpsEdge } from '../../client/generated/https-edges.ts';
import type { JsonValue } from '../../lib/json.ts';

/** An edge for the checks, from the form in which the API shows it. */
export function checkedAsShown(edge: HttpsEdge): CheckedEdge {
  const routes = edge.routes.map((route) => checkedRoute(route, fieldsOf(route)));
  return checkedEdge(edge, fieldsOf(edge), routes);
}

function fieldsOf(shown: object): (name: string) => JsonValue | undefined {
  const fields = new Map<string, JsonValue>(Object.entries(shown));
  return (name) => fields.get(name);
}
