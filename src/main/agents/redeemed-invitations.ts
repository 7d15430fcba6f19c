import { OPERATOR_REQUEST } from '../../bootstrap/bootstrap-port.ts';
import { Documents } from '../../documents/documents.ts';
import type { DocumentsContext } from '../../documents/documents-context.ts';
import type { Invitations } from '../../gateway/ports.ts';
import { isHostName } from '../../lib/net/listen-address.ts';
import { hashToken } from '../../lib/text/token-hash.ts';
import { RecordIndex } from '../../replica/record-index.ts';
import type { Replica } from '../../replica/replica.ts';
import { AGENT_INVITATION_KIND, invitationOf } from '../../resources/agent_invitations/agent-invitations.ts';
import { isCredentialToken } from '../../resources/credentials/credential-token.ts';
import type { Principal } from '../../resources/operation.ts';
import type { StoredRecord } from '../../store/store.ts';

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
