import type { JsonObject } from '../lib/json.ts';
import type { SharedPorts } from './shared-ports.ts';

/** A request as the API shows it: with references instead of ids. */
export function withRefs(request: JsonObject, ref: SharedPorts['ref']): JsonObject {
  const { edge, route } = request;
  const hasEdge = typeof edge === 'string';
  // An agent's endpoint is its own route.
  const hasRoute = hasEdge && typeof route === 'string' && route !== edge;
  return {
    ...request,
    edge: hasEdge ? { ...ref(edge) } : null,
    route: hasRoute ? { ...ref(route, edge) } : null,
  };
}
