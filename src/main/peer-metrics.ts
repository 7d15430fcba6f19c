import { Gauge, type Registry } from 'prom-client';
import type { NodeLinks } from '../nodes/links/node-links.ts';

export function addPeerMetrics(registry: Registry, links: NodeLinks | null): void {
  new Gauge({
    name: 'postern_peer_links',
    help: 'Other nodes that this one is linked to.',
    registers: [registry],
    collect() {
      this.set(links?.size ?? 0);
    },
  });
}
