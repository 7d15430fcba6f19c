import type { Refusal } from '../../modules/contract/decides.ts';
import { readPath } from '../../snapshot/canonical-path.ts';
import { mayShareService } from '../../snapshot/compile-backend.ts';
import type { EdgeSnapshot, RouteSnapshot } from '../../snapshot/edge-snapshot.ts';
import { edgeErrors } from '../errors.ts';
import { isOwnPath } from '../exchange/own-paths.ts';

/** Where a request is rewritten. */
export interface RewritePlace {
  readonly route: RouteSnapshot | null;
  readonly host: string;
  readonly runtime: { findEdge(host: string): EdgeSnapshot | undefined };
}

const UNREADABLE = refusal('rewritten_path', 'This address leads to a path that this site does not forward.');
const SECOND_DOOR = refusal(
  'other_access',
  'This address leads to a page of this site that has other access rules. Use the address of that page.',
);

/**
 * Why a rewritten path is not forwarded; null: it is. The upstream gets only what it could get as a received path: a
 * rewrite is no second door to a page of the same service behind another route with other access modules.
 */
export function rewriteProblem(target: string, { route, host, runtime }: RewritePlace): Refusal | null {
  const reading = readPath(target);
  const edge = runtime.findEdge(host);
  if (!reading.ok || reading.path.odd !== null || edge === undefined || route === null || isOwnPath(edge, reading.path))
    return UNREADABLE;
  const reached = edge.routes.reachedBy(reading.path, host);
  if (reached === null) return UNREADABLE;
  for (const other of reached) {
    const isOther = other.access !== route.access && mayShareService(other.backend, route.backend);
    if (isOther) return SECOND_DOOR;
  }
  return null;
}

function refusal(reason: string, message: string): Refusal {
  const code = 'ERR_POSTERN_BAD_PATH';
  return { status: edgeErrors.rows[code].status, code, reason, message };
}
