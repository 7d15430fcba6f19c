import Type from 'typebox';
import { lowerCaseHost } from '../../lib/net/host-name.ts';
import { hostOf } from '../../lib/net/split-address.ts';
import { bodyProblem } from '../../lib/schema/decode-body.ts';
import { identityHostConflict } from '../identity-host-conflict.ts';
import { defineResource, describedFields } from '../resource.ts';
import { hostportProblem } from './hostports.ts';

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
