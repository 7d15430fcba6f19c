import { rfc3339 } from '../../lib/clock.ts';
import { hashToken } from '../../lib/text/token-hash.ts';
import type { RecordPut, StoredRecord } from '../../store/store.ts';
import {
  type InvitationDoc,
  invitationId,
  invitationOf,
  invitationSecrets,
  invitationUrl,
  USER_INVITATION_KIND,
} from './people-records.ts';

export interface InvitationPorts {
  readonly issuer: string;
  readonly lifetimeMs: number;
  readonly nowMs: number;
  /** Absent: it is the first one. */
  readonly former?: readonly string[];
  newToken(prefix: string): string;
  mac(purpose: string, data: string): string;
}

const MAX_FORMER = 8;

/** For the link that replaces this one, whose page then says so. */
export function formerHashes(invitation: StoredRecord | undefined): readonly string[] {
  if (invitation === undefined) return [];
  const { secret_hash: last, former_hashes: former = [] } = invitationOf(invitation);
  return [last, ...former].slice(0, MAX_FORMER);
}

interface Inviter {
  readonly apiKeyId: string;
  readonly scopes: readonly string[];
}

export interface NewInvitation {
  readonly url: string;
  readonly expiresAtMs: number;
  /** Replaces an earlier one, whose link is dead then. */
  readonly put: RecordPut;
}

/** A new link for a person. The store has only its hash. */
export function newInvitation(accountId: string, inviter: Inviter, ports: InvitationPorts): NewInvitation {
  const secret = invitationSecrets.create(
    (prefix) => ports.newToken(prefix),
    (purpose, data) => ports.mac(purpose, data),
  );
  const expiresAtMs = ports.nowMs + ports.lifetimeMs;
  const doc: InvitationDoc = {
    secret_hash: hashToken(secret),
    expires_at: rfc3339(expiresAtMs),
    created_by: inviter.apiKeyId,
    inviter_scopes: inviter.scopes,
    ...(ports.former !== undefined && ports.former.length > 0 && { former_hashes: ports.former }),
  };
  return {
    url: invitationUrl(ports.issuer, secret),
    expiresAtMs,
    put: {
      kind: USER_INVITATION_KIND,
      id: invitationId(accountId),
      parent: accountId,
      doc: { ...doc },
      secrets: null,
      uniqueKeys: [{ scope: 'user_invitation_secret', key: doc.secret_hash }],
      references: [],
    },
  };
}
