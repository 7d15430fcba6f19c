import type { EdgePlan } from './plan-edge.ts';
import type { WantedEdge } from './wanted-edge.ts';

/** The address that visitors open. */
export function edgeUrl(
  { host, port, listenerPort, path }: Pick<WantedEdge, 'host' | 'port' | 'listenerPort' | 'path'>,
  { edge }: Pick<EdgePlan, 'edge'>,
): string {
  const hostport =
    edge?.hostports.find((each) => each.replace(/:\d+$/, '') === host) ?? `${host}:${port ?? listenerPort}`;
  // Any name that the wildcard matches.
  return `https://${hostport.replace(/:443$/, '').replace(/^\*/, 'anything')}${path}`;
}

/** Where a login provider sends people back to. */
export function redirectUri(url: string): string {
  return `${new URL(url).origin}/.postern/callback`;
}
