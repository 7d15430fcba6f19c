import Type from 'typebox';
import { hostNameProblem, hostOf, isHostOrBelow, lowerCaseHost } from '../../../kit/net/host-name.ts';
import { bodyProblem } from '../../../kit/schema/decode-body.ts';
import { defineResource, describedFields, type ResourceSettings } from '../resource.ts';

/**
 * Why nothing else may have this host, as the end of a sentence; null: it may. A site below the identity host could set
 * its cookies.
 */
export function identityHostConflict(host: string, { identity }: Pick<ResourceSettings, 'identity'>): string | null {
  if (identity === null || !isHostOrBelow(host, identity.hostname)) return null;
  return `${host}, which is the identity host ${identity.hostname} or below it (identity_host): use another name`;
}

const ANY_OF = new Intl.ListFormat('en', { type: 'disjunction' });

/** The problem with a `host:port`, or null. */
function hostportProblem(hostport: string, edgePorts: readonly number[] | null): string | null {
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

/** Hosts that Postern serves over HTTPS. */
export const httpsEdges = defineResource({
  name: 'https_edges',
  kind: 'https_edge',
  idPrefix: 'edghts',
  path: '/edges/https',
  listKey: 'https_edges',
  title: 'an HTTPS edge',
  description: 'A set of hosts served over HTTPS, with routes for their requests.',
  eventNoun: 'https_edge',
  hasHostNames: true,
  hasTraffic: true,
  modules: 'edge',
  inlineChildren: ['https_edge_route'],
  config: Type.Object({
    ...describedFields,
    hostports: Type.Array(Type.String({ maxLength: 260 }), {
      default: [],
      maxItems: 1000,
      description:
        'Hosts and ports of the edge, each "host:port" such as "app.example.com:443". A host may start with "*.", which matches one label. A host belongs to one edge, regardless of the port. The port is 443, a port of the setting edge_listen, or one of edge_host_ports.',
    }),
  }),
  example: { description: 'the shop', hostports: ['shop.example.com:443'] },
  normalize: (config) => ({ ...config, hostports: config.hostports.map(lowerCaseHost) }),
  check: (config, settings) => {
    const wrong = config.hostports
      .map((hostport) => hostportProblem(hostport, settings.edgePorts))
      .find((problem) => problem !== null);
    if (wrong !== undefined) return [bodyProblem('hostports', wrong)];
    const repeated = config.hostports.find((hostport, index) => config.hostports.indexOf(hostport) !== index);
    return repeated === undefined ? [] : [bodyProblem('hostports', `lists "${repeated}" twice: list each one once`)];
  },
  conflict: (config, previous, settings) => {
    const before = new Set(previous?.hostports.map(hostOf));
    const added = config.hostports.map(hostOf).filter((host) => !before.has(host));
    const own = added.map((host) => identityHostConflict(host, settings)).find((problem) => problem !== null);
    if (own !== undefined) return `"hostports" includes ${own}`;
    const [taken] = added.flatMap((host) => settings.tunnelNamesUnder(host));
    return taken === undefined
      ? null
      : `"hostports" includes ${taken}, which an agent's tunnel uses: stop that tunnel first (GET /endpoints lists it)`;
  },
  uniqueKeys: (config) =>
    [...new Set(config.hostports.map(hostOf))].map((key) => ({ scope: 'edge_host', key, field: 'hostports' })),
});
