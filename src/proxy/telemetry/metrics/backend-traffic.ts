import { TUNNEL_BACKEND_KIND } from '../../../backends/backend.ts';
import type { RouteSnapshot } from '../../snapshot/edge-snapshot.ts';

/** Answers of the edge that say that no upstream of the backend did its work. */
const FAILURES: ReadonlySet<string> = new Set([
  'ERR_POSTERN_UPSTREAM_UNREACHABLE',
  'ERR_POSTERN_UPSTREAM_BROKEN',
  'ERR_POSTERN_UPSTREAM_TIMEOUT',
  'ERR_POSTERN_NO_TUNNEL',
]);

export interface BackendCounts {
  readonly backendId: string;
  readonly failed: number;
  readonly succeeded: number;
}

interface CountedRequest {
  readonly route: RouteSnapshot | null;
  readonly status: number;
  readonly errorCode: string | null;
  readonly targetName: string | null;
}

/**
 * Counts forwarded requests by the backend of their route, until they are taken. There are as many as backends in use.
 */
export class BackendTraffic {
  #counts = new Map<string, { failed: number; succeeded: number }>();

  finished({ route, status, errorCode, targetName }: CountedRequest): void {
    const backend = route?.backend ?? null;
    if (backend === null || backend.kind === TUNNEL_BACKEND_KIND) return;
    const isFailed = errorCode !== null && FAILURES.has(errorCode);
    // Anything else was not forwarded, or its client left before the backend had answered.
    if (!isFailed && (errorCode !== null || targetName === null || status === 0)) return;
    const counts = this.#of(backend.id);
    if (isFailed) counts.failed += 1;
    else counts.succeeded += 1;
  }

  /** What another thread has counted. */
  add(others: readonly BackendCounts[]): void {
    for (const { backendId, failed, succeeded } of others) {
      const counts = this.#of(backendId);
      counts.failed += failed;
      counts.succeeded += succeeded;
    }
  }

  take(): readonly BackendCounts[] {
    const taken = [...this.#counts].map(([backendId, counts]) => ({ backendId, ...counts }));
    this.#counts = new Map();
    return taken;
  }

  #of(backendId: string): { failed: number; succeeded: number } {
    let counts = this.#counts.get(backendId);
    if (counts === undefined) {
      counts = { failed: 0, succeeded: 0 };
      this.#counts.set(backendId, counts);
    }
    return counts;
  }
}
