import { findingTable } from '../../../kit/findings.ts';
import { isHostOrBelow } from '../../../kit/net/host-name.ts';
import { isLoopbackHost } from '../../../kit/net/listen-address.ts';
import { isPublicName } from '../../../proxy/acme/names.ts';
import { identityAddress } from '../../identity/contracts.ts';
import type { Facts } from '../facts.ts';
import type { Check, Subject } from '../subject.ts';
import { hostsOfEdge, validNames, wildcardFor } from './certificates.ts';

interface OldPasskeys {
  readonly people: Facts['user_accounts'];
  readonly hostname: string;
}

interface Host {
  readonly hostname: string;
}

const UNTRUSTED = ({ hostname }: Host): string =>
  `the internal CA issues the certificate of ${hostname}: browsers that do not trust it refuse passkeys there, also after the visitor accepts the certificate`;
const TRUST =
  'set acme (POSTERN_ACME) to "on", upload a certificate, or let the devices of people trust the internal CA (postern ca)';

const { kinds, found, ok } = findingTable('identity', {
  identity_host_unset: {
    level: 'warning',
    text: ({ people }: Pick<OldPasskeys, 'people'>) =>
      `there are ${people.length} user accounts, but no identity host: nobody can log in`,
    advice: 'set identity_host (POSTERN_IDENTITY_HOST), or delete the accounts: postern users remove PERSON',
  },
  identity_host_taken: {
    level: 'problem',
    text: ({ edgeId, host }: { readonly edgeId: string; readonly host: string }) =>
      `the edge ${edgeId} has the host ${host}, which is the identity host or below it: it could set its cookies`,
    advice: 'remove the host from the edge, or change identity_host',
  },
  passkeys_of_other_host: {
    level: 'warning',
    text: ({ people, hostname }: OldPasskeys) => {
      const hosts = new Set(people.flatMap(({ passkeyHosts }) => passkeyHosts));
      hosts.delete(hostname);
      const who = people.length === 1 ? (people[0]?.email ?? '') : `${people.length} people`;
      return `passkeys of ${who} belong to ${[...hosts].join(', ')} and do not work at ${hostname}`;
    },
    advice: 'set identity_host back, or invite the people again: postern users invite PERSON',
  },
  public_identity_host_untrusted: { level: 'warning', text: UNTRUSTED, advice: TRUST },
  identity_host_untrusted: { level: 'hint', text: UNTRUSTED, advice: TRUST },
});

/** Why people may be unable to log in at the identity host. */
export const identityCheck: Check = {
  name: 'identity',
  nouns: ['edges', 'tls_certificates', 'managed_certificates', 'user_accounts'],
  kinds,
  *run({ config, edges, tls_certificates: uploaded, managed_certificates: managed, user_accounts: people, nowMs }) {
    const hostname = identityAddress(config.identity_host)?.hostname ?? null;
    if (hostname === null) {
      if (people.length > 0) yield found('identity_host_unset', { people });
      return;
    }
    let isFine = true;
    for (const { id, hostports } of edges) {
      const host = hostsOfEdge({ hostports }).find((each) => isHostOrBelow(each, hostname));
      isFine &&= host === undefined;
      yield host === undefined ? null : found('identity_host_taken', { edgeId: id, host }, { id });
    }
    const stale = people.filter(({ passkeyHosts }) => passkeyHosts.some((host) => host !== hostname));
    if (stale.length > 0) {
      isFine = false;
      yield found('passkeys_of_other_host', { people: stale, hostname });
    }
    const valid = yield* validNames(uploaded, nowMs);
    const isTrusted =
      config.acme === 'on' ||
      isLoopbackHost(hostname) ||
      managed.some((each) => each.hostname === hostname) ||
      valid.has(hostname) ||
      valid.has(wildcardFor(hostname));
    if (!isTrusted) {
      const code = isPublicName(hostname) ? 'public_identity_host_untrusted' : 'identity_host_untrusted';
      yield found(code, { hostname });
    } else if (isFine) yield ok(`people can log in at ${hostname}`);
  },
};

export const identity: Subject = { checks: [identityCheck] };
