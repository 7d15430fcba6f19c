import { hostNameProblem, hostOf, isHostOrBelow, lowerCaseHost } from '../kit/net/host-name.ts';
import type { HostportRules, ListenerSettings } from './edge-kind.ts';

/**
 * Why nothing else may have this host, as the end of a sentence; null: it may. A site below the identity host could set
 * its cookies.
 */
export function identityHostConflict(host: string, { identity }: Pick<ListenerSettings, 'identity'>): string | null {
  if (identity === null || !isHostOrBelow(host, identity.hostname)) return null;
  return `${host}, which is the identity host ${identity.hostname} or below it (identity_host): use another name`;
}

const ANY_OF = new Intl.ListFormat('en', { type: 'disjunction' });

/** The problem with a `host:port`, or null. */
function nameProblem(hostport: string, { edgePorts }: ListenerSettings): string | null {
  const separator = hostport.lastIndexOf(':');
  if (separator === -1) return `"${hostport}" must be "host:port", such as "app.example.com:443"`;
  const port = hostport.slice(separator + 1);
  if (!/^[1-9]\d{0,4}$/.test(port) || Number(port) > 65_535) return `"${hostport}" must have a port from 1 to 65535`;
  if (edgePorts !== null && !edgePorts.includes(Number(port))) {
    const known = ANY_OF.format(edgePorts.toSorted((one, other) => one - other).map(String));
    return `"${hostport}" has port ${port}, but visitors can use ${known}: write one of these, or add the port to edge_listen, or to edge_host_ports if something in front maps it`;
  }
  return hostNameProblem(hostOf(hostport), 'allowed');
}

function nameConflict(host: string, settings: ListenerSettings): string | null {
  const own = identityHostConflict(host, settings);
  if (own !== null) return own;
  const [taken] = settings.tunnelNamesUnder(host);
  if (taken === undefined) return null;
  return `${taken}, which an agent's tunnel uses: stop that tunnel first (GET /endpoints lists it)`;
}

/** The rules of edges that own names: a host has one owner, regardless of the port and of the kind. */
export const ownedNames: HostportRules = {
  description:
    'Hosts and ports of the edge, each "host:port" such as "app.example.com:443". A host may start with "*.", which matches one label. A host belongs to one edge, regardless of the port. The port is 443, a port of the setting edge_listen, or one of edge_host_ports.',
  scope: 'edge_host',
  keyOf: hostOf,
  normalize: lowerCaseHost,
  problem: nameProblem,
  conflict: nameConflict,
  shortForm: (hostport) => hostport.replace(/:\d+$/, ''),
  longForm: (host) => `${host}:443`,
};

/** The names of an edge that owns names. What is not a name is left out: somebody may have edited the database. */
export function namesIn({ hostports }: { readonly hostports?: unknown }): readonly string[] {
  return (Array.isArray(hostports) ? hostports : []).filter((hostport) => typeof hostport === 'string').map(hostOf);
}
