import { isPublicName } from '../acme/names/public-name.ts';
import { validNames } from './certificates.ts';
import type { Check } from './check.ts';
import { findingMaker } from './finding.ts';
import { hostsOfEdge, wildcardFor } from './hosts.ts';

const MAX_SHOWN = 5;

const found = findingMaker('managed_certificates');

/** Public names of edges that only the internal CA serves. */
export const untrustedHosts: Check = {
  name: 'managed_certificates',
  nouns: ['edges', 'tls_certificates', 'managed_certificates'],
  *run({ config, edges, tls_certificates: uploaded, managed_certificates: managed, nowMs }) {
    if (config.acme === 'on') return;
    const valid = yield* validNames(uploaded, nowMs);
    const names = new Set(managed.map(({ hostname }) => hostname));
    const hosts = new Set<string>();
    for (const edge of edges) {
      for (const host of hostsOfEdge(edge)) {
        const isServed = names.has(host) || valid.has(host) || valid.has(wildcardFor(host));
        if (!isServed && isPublicName(host)) hosts.add(host);
      }
      yield null;
    }
    if (hosts.size === 0) return;
    const more = hosts.size > MAX_SHOWN ? ` and ${hosts.size - MAX_SHOWN} more` : '';
    yield found.warning(
      `browsers do not trust the certificates of ${[...hosts].slice(0, MAX_SHOWN).join(', ')}${more}: the internal CA issues them`,
      'set acme (POSTERN_ACME) to "on" to order public ones, or upload one: postern api tls-certificates create',
    );
  },
};
