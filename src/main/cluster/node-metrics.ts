import { Gauge, type Registry } from 'prom-client';
import type { NodeLinks } from '../../nodes/links/node-links.ts';
import type { NodeFacts } from '../../nodes/node.ts';

export function addNodeMetrics(registry: Registry, { id, name, version }: NodeFacts): void {
  const info = new Gauge({
    name: 'postern_node_info',
    help: 'Always 1: id, name and version of this node. Join it with the other metrics of the process.',
    labelNames: ['id', 'node', 'version'],
    registers: [registry],
  });
  info.set({ id, node: name, version }, 1);
  const build = new Gauge({
    name: 'postern_build_info',
    help: 'Always 1: version of the program, version of Node.js, and the platform that it runs on.',
    labelNames: ['version', 'nodejs', 'platform', 'arch'],
    registers: [registry],
  });
  const { version: nodejs, platform, arch } = process;
  build.set({ version, nodejs: nodejs.slice(1), platform, arch }, 1);
}

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
