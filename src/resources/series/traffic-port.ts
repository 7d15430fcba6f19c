import type { FoundRequests } from '../../telemetry/requests/installation-requests.ts';

export interface TrafficPort {
  points(query: {
    readonly fromMs: number;
    readonly stepSeconds: number;
    readonly routeId: string | null;
  }): Promise<{ readonly points: readonly TrafficPoint[]; readonly nodes: FoundRequests['nodes'] }>;
  /** The busiest first. */
  routes(
    fromMs: number,
    limit: number,
  ): Promise<{ readonly routes: readonly RouteTraffic[]; readonly nodes: FoundRequests['nodes'] }>;
}

/** What happened within one step. */
export interface TrafficPoint {
  readonly atMs: number;
  readonly requests: number;
  readonly errors: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
}

export interface RouteTraffic extends Omit<TrafficPoint, 'atMs'> {
  readonly routeId: string;
  readonly edgeId: string;
}
