import type { TrafficRequest } from '../../contract/traffic-request.ts';

/**
 * Whether a page loads this as an image, frame, script or the like. People open links; a page that embeds one is not
 * the visitor's choice, so nothing is looked up or counted for it. Browsers send Sec-Fetch-Dest since 2023; for others
 * the separate budget of guesses has to do.
 */
export function isSubresource(request: TrafficRequest): boolean {
  const dest = request.header('sec-fetch-dest');
  return dest !== undefined && dest !== 'document' && request.header('sec-fetch-site') !== 'same-origin';
}
