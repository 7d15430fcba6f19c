import { hostOf } from '../lib/net/split-address.ts';
import type { CheckedCertificate, CheckedEdge } from './facts.ts';

/** Hosts of all edges by the names that cover them: the host itself, and the wildcard for its first label. */
export function* hostsByName(edges: readonly CheckedEdge[]): Generator<null, ReadonlyMap<string, ReadonlySet<string>>> {
  const byName = new Map<string, Set<string>>();
  for (const edge of edges) {
    for (const host of hostsOfEdge(edge)) {
      for (const name of [host, wildcardFor(host)]) {
        const hosts = byName.get(name);
        if (hosts === undefined) byName.set(name, new Set([host]));
        else hosts.add(host);
      }
    }
    yield null;
  }
  return byName;
}

/** Hosts of all edges, without duplicates and ports. */
export function hostsOf(edges: readonly Pick<CheckedEdge, 'hostports'>[]): readonly string[] {
  return [...new Set(edges.flatMap(hostsOfEdge))];
}

export function hostsOfEdge({ hostports }: Pick<CheckedEdge, 'hostports'>): readonly string[] {
  return hostports.map(hostOf);
}

/** A wildcard covers one label, on either side. */
export function wildcardFor(host: string): string {
  return host.replace(/^[^.]+/, '*');
}

export function namesOf({ subject_alternative_names: names }: CheckedCertificate): readonly string[] {
  return names.dns_names.map((name) => name.toLowerCase());
}
