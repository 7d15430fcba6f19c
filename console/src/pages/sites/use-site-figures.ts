import { get } from '../../api/request.ts';
import { isAllowed } from '../../api/scopes.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import type { Reference } from '../../schema/load-by-ids.ts';

const EVERY_MS = 15_000;
/** As many as the server counts. */
const MAX_ROUTES = 500;

export interface Figures {
  readonly requests: number;
  readonly errors: number;
}

/** Traffic of sites in the last hour. */
export interface SiteFigures {
  /** Null: not known, because the scopes do not allow it, or too many other sites are busier. */
  of(edgeId: string): Figures | null;
  /** Sites with errors first, then those with the most requests. */
  readonly busiest: readonly (Figures & { readonly id: string })[];
  /** Ids of backends that an alert is about, with its title. */
  readonly alerts: ReadonlyMap<string, string>;
  readonly reload: () => void;
}

interface RouteFigures extends Figures {
  readonly edge: Reference;
}

export function useSiteFigures(): SiteFigures {
  const { data: routes, reload: reloadRoutes } = useLoaded('site figures', loadRoutes, EVERY_MS);
  const { data: alerts, reload: reloadAlerts } = useLoaded('site alerts', loadAlerts, EVERY_MS);
  const sums = new Map<string, Figures>();
  for (const { edge, requests, errors } of routes ?? []) {
    const known = sums.get(edge.id);
    sums.set(edge.id, { requests: requests + (known?.requests ?? 0), errors: errors + (known?.errors ?? 0) });
  }
  const isComplete = routes !== null && routes.length < MAX_ROUTES;
  const busiest = [...sums].map(([id, found]) => ({ id, ...found }));
  return {
    busiest: busiest.sort((one, other) => other.errors - one.errors || other.requests - one.requests),
    of: (edgeId) => sums.get(edgeId) ?? (isComplete ? { requests: 0, errors: 0 } : null),
    alerts: alerts ?? new Map(),
    reload: () => {
      reloadRoutes();
      reloadAlerts();
    },
  };
}

async function loadRoutes(abort: AbortSignal): Promise<readonly RouteFigures[] | null> {
  if (!isAllowed('series:read')) return null;
  return (await get<{ routes: readonly RouteFigures[] }>(`/series/routes?limit=${MAX_ROUTES}`, abort)).routes;
}

async function loadAlerts(abort: AbortSignal): Promise<ReadonlyMap<string, string>> {
  if (!isAllowed('alerts:read')) return new Map();
  const { alerts } = await get<{ alerts: readonly { subject: string; title: string }[] }>('/alerts?limit=100', abort);
  return new Map(alerts.map(({ subject, title }) => [subject, title]));
}
