import type { TunnelSpec } from '../../../src/tunnel/agent/index.ts';
import type { TunnelWorld } from '../../support/tunnel-world.ts';

/** How a client reaches a local service of an agent. */
export interface Way {
  readonly name: string;
  readonly host: string;
  readonly url: string;
  readonly isCompressed: boolean;
}

let groupCount = 0;

/**
 * The two paths to an agent's service: its own endpoint, and a tunnel group behind a route, which also compresses, as
 * most do.
 */
export async function bothWays(
  world: TunnelWorld,
  spec: Omit<TunnelSpec, 'proto' | 'labels'>,
): Promise<readonly Way[]> {
  const { edge } = world;
  groupCount += 1;
  const labels = { app: 'traffic', group: String(groupCount) };
  const { id } = await edge.api('POST', '/backends/tunnel_group', { labels });
  const site = await edge.site(id);
  await edge.api('PUT', `${site.routePath}/compression`, {});
  const agent = await world.agent([
    { ...spec, proto: 'https' },
    { ...spec, labels: { ...labels, member: 'only' } },
  ]);
  const { hostname } = new URL(agent.publicUrl ?? '');
  const at = (host: string) => ({ host, url: `https://${host}:${edge.port}` });
  return [
    { name: 'an https tunnel', isCompressed: false, ...at(hostname) },
    { name: 'a tunnel group with compression', isCompressed: true, ...at(site.host) },
  ];
}
