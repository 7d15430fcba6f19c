import { agents } from './agents.ts';
import { alerts } from './alerts.ts';
import { authorities } from './authorities.ts';
import { certificates } from './certificates.ts';
import type { Check } from './check.ts';
import { destinations } from './destinations.ts';
import { identity } from './identity.ts';
import { lists } from './lists.ts';
import { managedCertificates } from './managed-certificates.ts';
import { nodes } from './nodes.ts';
import { routes } from './routes.ts';
import { settings } from './settings.ts';
import { store } from './store.ts';
import { untrustedHosts } from './untrusted-hosts.ts';
import { validationPorts } from './validation-ports.ts';

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
