import type { AlertFacts, AlertKind } from '../../alert-kind.ts';

/** A route whose circuit breaker refuses requests. It closes by itself when the backend serves a probe. */
export const circuitOpen: AlertKind = {
  name: 'circuit_open',
  description: 'The circuit breaker of a route has been open for alert_circuit_open: visitors get 503.',
  advice:
    'repair the service behind the route: postern requests shows what fails. The circuit closes when the service serves a request again, or when its module is changed, disabled or deleted',
  sight: 'node',
  raiseAfterMs: ({ circuitOpenMs }) => circuitOpenMs,
  // The circuit itself is steady.
  resolveAfterMs: 0,
  isOn: ({ circuitOpenMs }) => circuitOpenMs > 0,
  createLook: () => (facts) =>
    facts.openCircuits().map((routeId) => ({ subject: routeId, state: 'bad', title: titleOf(routeId, facts) })),
};

function titleOf(routeId: string, facts: AlertFacts): string {
  const route = facts.record('https_edge_route', routeId);
  const edge = facts.record('https_edge', route?.parent ?? '');
  const [host = ''] = Array.isArray(edge?.doc['hostports']) ? edge.doc['hostports'] : [];
  const name = `${String(host as string).replace(/:443$/, '')}${String((route?.doc['match'] ?? '') as string)}`;
  return `the circuit of ${name === '' ? routeId : `${name} (${routeId})`} is open on ${facts.node}: its backend fails`;
}
