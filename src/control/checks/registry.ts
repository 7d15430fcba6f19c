import { authorities, certificates, managedCertificates, untrustedHosts } from './certificates.ts';
import type { Check } from './check.ts';
import { alerts, destinations } from './destinations.ts';
import { identity } from './identity.ts';
import { lists } from './lists.ts';
import { agents, nodes, settings, store, validationPorts } from './nodes.ts';
import { routes } from './routes.ts';

/** Every check, in the order in which reports show findings of one level. */
export const checks: readonly Check[] = [
  store,
  alerts,
  settings,
  nodes,
  certificates,
  managedCertificates,
  untrustedHosts,
  validationPorts,
  authorities,
  routes,
  lists,
  destinations,
  agents,
  identity,
];
