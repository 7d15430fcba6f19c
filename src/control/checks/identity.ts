import { isHostOrBelow } from '../../kit/net/host-name.ts';
import { isLoopbackHost } from '../../kit/net/listen-address.ts';
import { isPublicName } from '../../proxy/acme/names.ts';
import { identityAddress } from '../identity/contracts.ts';
import { hostsOfEdge, validNames, wildcardFor } from './certificates.ts';
import { type Check, findingMaker } from './check.ts';

const found = findingMaker('identity');

/** Why people may be unable to log in at the identity host. */
export const identity: Check = {
  name: 'identity',
  nouns: ['edges', 'tls_certificates', 'managed_certificates', 'user_accounts'],
  *run({ config, edges, tls_certificates: uploaded, managed_certificates: managed, user_accounts: people, nowMs }) {
    const hostname = identityAddress(config.identity_host)?.hostname ?? null;
    if (hostname === null) {
      if (people.length === 0) return;
      yield found.warning(
        `there are ${people.length} user accounts, but no identity host: nobody can log in`,
        'set identity_host (POSTERN_IDENTITY_HOST), or delete the accounts: postern users remove PERSON',
      );
      return;
    }
    let isFine = true;
    for (const edge of edges) {
      const host = hostsOfEdge(edge).find((each) => isHostOrBelow(each, hostname));
      if (host === undefined) yield null;
      else {
        isFine = false;
        yield found.problem(
          `the edge ${edge.id} has the host ${host}, which is the identity host or below it: it could set its cookies`,
          `remove the host from the edge, or change identity_host`,
          { id: edge.id },
        );
      }
    }
    const stale = people.filter(({ passkeyHosts }) => passkeyHosts.some((host) => host !== hostname));
    if (stale.length > 0) {
      isFine = false;
      const hosts = [...new Set(stale.flatMap(({ passkeyHosts }) => passkeyHosts))].filter((host) => host !== hostname);
      const who = stale.length === 1 ? (stale[0]?.email ?? '') : `${stale.length} people`;
      yield found.warning(
        `passkeys of ${who} belong to ${hosts.join(', ')} and do not work at ${hostname}`,
        'set identity_host back, or invite the people again: postern users invite PERSON',
      );
    }
    const valid = yield* validNames(uploaded, nowMs);
    const isTrusted =
      config.acme === 'on' ||
      isLoopbackHost(hostname) ||
      managed.some((each) => each.hostname === hostname) ||
      valid.has(hostname) ||
      valid.has(wildcardFor(hostname));
    if (!isTrusted) {
      isFine = false;
      yield found[isPublicName(hostname) ? 'warning' : 'hint'](
        `the internal CA issues the certificate of ${hostname}: browsers that do not trust it refuse passkeys there, also after the visitor accepts the certificate`,
        'set acme (POSTERN_ACME) to "on", upload a certificate, or let the devices of people trust the internal CA (postern ca)',
      );
    }
    if (isFine) yield found.ok(`people can log in at ${hostname}`);
  },
};
