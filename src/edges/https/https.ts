import type { EdgeKind } from '../edge-kind.ts';
import { ownedNames } from '../owned-names.ts';
import { httpsRoutes } from './https-routes.ts';

/** Hosts that Postern serves over HTTPS. */
export const httpsEdge: EdgeKind = {
  name: 'https',
  protocols: ['https', 'http'],
  owns: 'names',
  passes: ['handshakes'],
  routes: httpsRoutes,
  endsTls: true,
  api: {
    idPrefix: 'edghts',
    title: 'an HTTPS edge',
    description: 'A set of hosts served over HTTPS, with routes for their requests.',
    hostports: ownedNames,
    example: { description: 'the shop', hostports: ['shop.example.com:443'] },
    publicUrl: (hostport) => `https://${hostport.replace(/:443$/, '')}`,
  },
};
