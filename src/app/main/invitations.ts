import { X509Certificate } from 'node:crypto';
import { OPERATOR_REQUEST } from '../../control/bootstrap.ts';
import { Documents } from '../../control/documents/documents.ts';
import type { DocumentsContext } from '../../control/documents/documents-context.ts';
import { AGENT_INVITATION_KIND, invitationOf } from '../../control/resources/agent_invitations/agent-invitations.ts';
import { isCredentialToken } from '../../control/resources/credentials/credential-token.ts';
import type { Principal } from '../../control/resources/operation.ts';
import type { ResourceSettings } from '../../control/resources/resource.ts';
import type { Clock } from '../../kit/clock.ts';
import { PosternError } from '../../kit/errors.ts';
import {
  formatListenAddress,
  isHostName,
  isWildcardHost,
  type ListenAddress,
  parseListenAddress,
} from '../../kit/net/listen-address.ts';
import { hashToken } from '../../kit/text/secrets.ts';
import type { InternalCa } from '../../proxy/pki/internal-ca.ts';
import { INTERNAL_CERTIFICATE } from '../../proxy/pki/internal-ca-places.ts';
import { ManagedCertificates } from '../../proxy/pki/managed-certificates.ts';
import { RecordIndex } from '../../store/replica/record-index.ts';
import type { Replica } from '../../store/replica/replica.ts';
import type { StoredRecord } from '../../store/store.ts';
import type { Invitations } from '../../tunnel/gateway/ports.ts';
import type { NodeRow } from '../../tunnel/nodes/node.ts';
import { invitationLine } from '../../tunnel/protocol/invitation-line.ts';
import type { Config } from '../settings/schema.ts';

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

const MAX_DESCRIPTION = 255;

class Unusable extends Error {}

/** Creates credentials through the same code as every other, in exchange for an invitation. */
export function redeemedInvitations(context: DocumentsContext, replica: Replica): Invitations & { close(): void } {
  const bySecret = new RecordIndex(replica, AGENT_INVITATION_KIND, (record) => invitationOf(record).secretHash);
  return {
    close: () => bySecret.close(),
    redeem: async ({ secret, token, name, address }) => {
      if (!isCredentialToken(token)) return null;
      const secretHash = hashToken(secret);
      // Another node may have made it a moment ago.
      if (bySecret.get(secretHash) === undefined) await replica.refresh();
      const usable = (): StoredRecord => {
        const found = bySecret.get(secretHash);
        if (found === undefined || invitationOf(found).expiresAtMs <= context.clock.nowMs()) throw new Unusable();
        return found;
      };
      try {
        const { description, acl, invitedBy } = invitationOf(usable());
        const principal: Principal = { ...invitedBy, scopes: [] };
        const documents = new Documents({ ...context, newToken: () => token });
        const body = { description: named(description, name), acl: [...acl] };
        const request = { ...OPERATOR_REQUEST, principal, body, address };
        const { body: created } = await documents.createFor(usable, 'credential', request);
        return { id: created?.['id'] as string, acl };
      } catch (error) {
        if (error instanceof Unusable) return null;
        if (error instanceof PosternError && error.code === 'ERR_POSTERN_CHANGE_PENDING') return 'waiting';
        throw error;
      }
    },
  };
}

/** The name comes from a stranger until the invitation is spent, and stays in lists: letters, digits and dots only. */
function named(description: string, machine: string): string {
  const on = isHostName(machine) ? machine.toLowerCase() : 'another machine';
  const text = description === '' ? on : `${description} on ${on}`;
  return text.slice(0, MAX_DESCRIPTION);
}
