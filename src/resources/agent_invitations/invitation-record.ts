import type { StoredRecord } from '../../store/store.ts';
import type { Principal } from '../operation.ts';

export const AGENT_INVITATION_KIND = 'agent_invitation';

/** Stored with an invitation and never shown. */
export interface InvitationInternal {
  readonly secret_hash: string;
  /** For the history of the credential. */
  readonly invited_by: Omit<Principal, 'scopes'>;
}

export interface StoredInvitation {
  readonly description: string;
  readonly acl: readonly string[];
  readonly expiresAtMs: number;
  readonly secretHash: string;
  readonly invitedBy: Omit<Principal, 'scopes'>;
}

export function invitationOf({ doc }: StoredRecord): StoredInvitation {
  const internal = doc['internal'] as unknown as InvitationInternal;
  return {
    description: doc['description'] as string,
    acl: doc['acl'] as readonly string[],
    expiresAtMs: Date.parse(doc['expires_at'] as string),
    secretHash: internal.secret_hash,
    invitedBy: internal.invited_by,
  };
}
