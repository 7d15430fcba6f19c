import type { Setting } from '../client/generated/settings.ts';
import { publicPorts } from '../lib/net/host-name.ts';
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

/** The port at which visitors reach the server: 443 if they can use it, or if nobody can say. */
export function listenerPort(settings: readonly Pick<Setting, 'name' | 'value'>[]): number {
  const portsIn = (name: string): readonly number[] => {
    const value = settings.find((each) => each.name === name)?.value ?? [];
    const items = (Array.isArray(value) ? value : [value]) as readonly unknown[];
    return items.map((item) => Number(/(\d+)$/.exec(String(item))?.[1] ?? 0));
  };
  const [first = 0] = publicPorts({ listening: portsIn('edge_listen'), mapped: portsIn('edge_host_ports') });
  return first;
}
