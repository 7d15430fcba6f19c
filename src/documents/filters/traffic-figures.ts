import type { OperationRequest } from '../../resources/operation.ts';
import type { ResourcePorts } from '../../resources/registry.ts';
import { requireScopes } from '../scopes.ts';
import type { ListFigures } from './filtered-list.ts';

const HOUR_MS = 3_600_000;
/** As many as each node counts. */
const MAX_ROUTES = 500;

/** Requests and errors of the last hour, of all nodes, by the edge whose routes they took. */
export const trafficFigures: ListFigures<Pick<ResourcePorts, 'traffic' | 'clock'>> = {
  names: ['requests', 'errors'],
  description: `Beside the fields: "requests" and "errors" of the last hour, as GET /series/routes counts them for the ${MAX_ROUTES} busiest routes, with the scope series:read.`,
  of: async (name, { principal }: OperationRequest, { traffic, clock }) => {
    requireScopes(principal, ['series:read']);
    const { routes } = await traffic.routes(clock.nowMs() - HOUR_MS, MAX_ROUTES);
    const sums = new Map<string, number>();
    for (const route of routes) {
      const figure = name === 'requests' ? route.requests : route.errors;
      sums.set(route.edgeId, (sums.get(route.edgeId) ?? 0) + figure);
    }
    return sums;
  },
};
