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
import type { InternalCa } from '../../pki/internal-ca.ts';
import { ManagedCertificates } from '../../pki/managed-certificates.ts';
import type { Replica } from '../../replica/replica.ts';
import type { ResourceSettings } from '../../resources/resource.ts';
import { invitationLine } from '../../tunnel/invitation-line.ts';

interface InviterParts {
  readonly config: Pick<Config, 'tunnel_address' | 'tunnel_names' | 'tunnel_tls_cert' | 'domain'>;
  readonly replica: Pick<Replica, 'all' | 'onChange'>;
  readonly clock: Clock;
  readonly internalCa: () => Promise<InternalCa>;
  /** Where this process listens for agents. */
  readonly listen: () => ListenAddress | null;
  readonly nodes: () => readonly Pick<NodeRow, 'tunnelAddress' | 'status'>[];
}

/** Makes the lines of invitations. */
export function agentInviter(parts: InviterParts): ResourceSettings['inviteAgent'] {
  return async (wanted, secret) => {
    const gateway = wanted ?? usualGateway(parts);
    if (gateway === null) {
      return {
        problem: 'is required, because this server has no listener for agents: name the host:port of one that has',
      };
    }
    const caSha256 = await authorityOf(gateway, parts);
    return { gateway, caSha256, line: invitationLine({ gateway, secret, caSha256 }) };
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

/** What the agent can check the gateway's certificate against. Null: the authorities of its system. */
async function authorityOf(
  gateway: string,
  { config, replica, clock, internalCa }: InviterParts,
): Promise<string | null> {
  const host = parseListenAddress(gateway)?.host ?? '';
  if (config.tunnel_tls_cert !== INTERNAL_CERTIFICATE || hasManaged(host, replica, clock.nowMs())) return null;
  // The gateway's certificate has addresses such as 127.0.0.1, so the CA for the domain cannot sign it.
  const { otherCaPem } = await internalCa();
  return new X509Certificate(otherCaPem).fingerprint256.replaceAll(':', '').toLowerCase();
}

/** Whether the gateway presents a certificate from an ACME server for this name. */
function hasManaged(host: string, records: InviterParts['replica'], nowMs: number): boolean {
  const managed = new ManagedCertificates({ records, onProblem: () => {} });
  const isFound = managed.find(host.toLowerCase(), nowMs) !== null;
  managed.close();
  return isFound;
}
