import type { TrafficRequest } from '../../contract/traffic-request.ts';
import { originOf } from '../../login/flow/return-target.ts';

/**
 * Whether a page of this origin sent the form. Our page has no referrer, so its forms have `Origin: null`: then only
 * Sec-Fetch-Site tells, which browsers send since 2023. A client that sends neither is no browser with our page.
 */
export function isSameOrigin(request: TrafficRequest): boolean {
  const site = request.header('sec-fetch-site');
  const origin = request.header('origin');
  if (site !== undefined && site !== 'same-origin') return false;
  if (origin === undefined || origin === 'null') return site === 'same-origin';
  return origin === originOf(request);
}
