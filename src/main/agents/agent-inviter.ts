import { X509Certificate } from 'node:crypto';
import { type Config, INTERNAL_CERTIFICATE } from '../../config/schema.ts';
import type { Clock } from '../../lib/clock.ts';
import {
  formatListenAddress,
  isWildcardHost,
  type ListenAddress,
  parseListenAddress,
} from '../../lib/net/listen-address.ts';
import type { NodeRow } from '../../nodes/node.ts';
import { internalCaPlaces } from '../../pki/internal-ca-places.ts';
import { ManagedCertificates } from '../../pki/managed-certificates.ts';
import { INTERNAL_CA_KIND } from '../../pki/server-internal-ca.ts';
import type { Replica } from '../../replica/replica.ts';
import type { ResourceSettings } from '../../resources/resource.ts';
import { invitationLine } from '../../tunnel/invitation-line.ts';

interface InviterParts {
  readonly config: Pick<
    Config,
    'tunnel_address' | 'tunnel_names' | 'tunnel_listen' | 'tunnel_tls_cert' | 'domain' | 'data_dir'
  >;
  readonly replica: Pick<Replica, 'get' | 'all' | 'onChange'>;
  readonly clock: Clock;
  /** Where this process listens for agents. */
  listen(): ListenAddress | null;
  nodes(): readonly Pick<NodeRow, 'tunnelAddress' | 'status'>[];
}

/** Makes the lines of invitations. */
export function agentInviter(parts: InviterParts): ResourceSettings['inviteAgent'] {
  return (wanted, secret) => {
    const gateway = wanted ?? usualGateway(parts);
    if (gateway === null) {
      return {
        problem: 'is required, because this server has no listener for agents: name the host:port of one that has',
      };
    }
    const trust = trustOf(gateway, parts);
    if ('problem' in trust) return trust;
    return { ...trust, gateway, line: invitationLine({ gateway, secret, ...trust }) };
  };
}

function usualGateway({ config, listen, nodes }: InviterParts): string | null {
  if (config.tunnel_address !== null) return formatListenAddress(config.tunnel_address);
  const own = listen();
  if (own === null)
    return nodes().find((node) => node.status === 'ready' && node.tunnelAddress !== null)?.tunnelAddress ?? null;
  const [name] = config.tunnel_names;
  if (name !== undefined) return formatListenAddress({ host: name, port: own.port });
  // The certificate has the domain, and no address of the machine: nobody can verify those.
  return formatListenAddress({ host: isWildcardHost(own.host) ? config.domain : own.host, port: own.port });
}

/** What the agent can check the gateway's certificate against. */
function trustOf(
  gateway: string,
  { config, replica, clock }: InviterParts,
): { readonly caSha256: string | null } | { readonly problem: string } {
  const host = parseListenAddress(gateway)?.host ?? '';
  if (config.tunnel_tls_cert !== INTERNAL_CERTIFICATE || hasManaged(host, replica, clock.nowMs())) {
    return { caSha256: null };
  }
  // The gateway's certificate has addresses such as 127.0.0.1, so the CA for the domain cannot sign it.
  const { id } = internalCaPlaces(config.data_dir, config.domain).other;
  const certificate = replica.get(INTERNAL_CA_KIND, id)?.doc['certificate'];
  if (typeof certificate !== 'string') {
    return { problem: 'cannot be named yet: no server with the role "gateway" was started on this store' };
  }
  return { caSha256: new X509Certificate(certificate).fingerprint256.replaceAll(':', '').toLowerCase() };
}

/** Whether the gateway presents a certificate from an ACME server for this name. */
function hasManaged(host: string, records: InviterParts['replica'], nowMs: number): boolean {
  const managed = new ManagedCertificates({ records, onProblem: () => {} });
  const isFound = managed.find(host.toLowerCase(), nowMs) !== null;
  managed.close();
  return isFound;
}
