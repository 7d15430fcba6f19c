import { rfc3339 } from '../../kit/clock.ts';
import type { JsonObject } from '../../kit/json.ts';
import { emailAddress } from '../../kit/text/email-address.ts';
import { hashToken, linkSecrets } from '../../kit/text/secrets.ts';
import type { RecordPut, StoredRecord, UniqueKey } from '../../store/store.ts';

export const USER_ACCOUNT_KIND = 'user_account';
export const PASSKEY_KIND = 'passkey';
/**
 * Records of their own: use must neither change the ETag of an account or passkey nor be reported as a change of it.
 */
export const PASSKEY_USE_KIND = 'passkey_use';
export const USER_ACCOUNT_USE_KIND = 'user_account_use';
/** One per account: a new one replaces it. */
export const USER_INVITATION_KIND = 'user_invitation';
export const OIDC_CLIENT_KIND = 'oidc_client';

/** Different from the parent's id: the store knows parents by id alone. */
export function useId(id: string): string {
  return `${id}.use`;
}

export function invitationId(accountId: string): string {
  return `${accountId}.invitation`;
}

export const invitationSecrets = linkSecrets({ prefix: 'postern_ui_', purpose: 'user-invitation' });

/** Where people accept invitations. */
const INVITATION_PATH = '/invitation';

/** The secret is in the query, as in guest links: no log and no event has queries. */
function invitationUrl(issuer: string, secret: string): string {
  return `${issuer}${INVITATION_PATH}?invite=${secret}`;
}

/** Addresses are compared as access rules compare them. */
export function emailKey(email: string): UniqueKey {
  return { scope: 'user_account_email', key: emailAddress(email)?.text ?? email };
}

interface UserAccount {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly groups: readonly string[];
  readonly isActive: boolean;
  readonly record: StoredRecord;
}

export function accountOf(record: StoredRecord): UserAccount {
  const { email, name, groups, active } = record.doc;
  return {
    id: record.id,
    email: email as string,
    name: name as string,
    groups: groups as readonly string[],
    isActive: active === true,
    record,
  };
}

/** What an authenticator registered, as it is stored. */
interface PasskeyDoc {
  readonly name: string;
  /** base64url. */
  readonly credential_id: string;
  /** COSE, base64url. */
  readonly public_key: string;
  /** At the registration: `passkey_use` has the current one. */
  readonly sign_count: number;
  readonly transports: readonly string[];
  readonly device_type: string;
  readonly backed_up: boolean;
  readonly created_at: string;
  /** The identity host that it was registered for. It works at no other. */
  readonly host: string;
  /** Scopes of the key or person whose invitation led to it: it is no way to more than these. */
  readonly inviter_scopes: readonly string[];
}

interface Passkey extends PasskeyDoc {
  readonly id: string;
  readonly accountId: string;
  readonly record: StoredRecord;
}

export function passkeyOf(record: StoredRecord): Passkey {
  return { ...(record.doc as unknown as PasskeyDoc), id: record.id, accountId: record.parent ?? '', record };
}

function credentialKey(credentialId: string): UniqueKey {
  return { scope: 'passkey_credential', key: credentialId };
}

interface InvitationDoc {
  readonly secret_hash: string;
  readonly expires_at: string;
  /** Id of the API key or console session; empty: the server itself. */
  readonly created_by: string;
  /** What that key or person could do: the link is no way to more. */
  readonly inviter_scopes: readonly string[];
  /** Hashes of the last links that this one replaced. */
  readonly former_hashes?: readonly string[];
}

export interface Invitation extends InvitationDoc {
  readonly accountId: string;
  readonly record: StoredRecord;
}

export function invitationOf(record: StoredRecord): Invitation {
  return { ...(record.doc as unknown as InvitationDoc), accountId: record.parent ?? '', record };
}

export function lastLoginOf(record: StoredRecord | undefined): string | null {
  return (record?.doc as { readonly last_login_at?: string } | undefined)?.last_login_at ?? null;
}

/** Claims of a login. Only administrators change addresses: that is what verified means here. */
export function accountClaims({ id, email, name, groups }: Omit<UserAccount, 'record' | 'isActive'>): JsonObject {
  return { sub: id, email, email_verified: true, name, groups };
}

export function passkeyPut(id: string, accountId: string, doc: PasskeyDoc): RecordPut {
  return {
    kind: PASSKEY_KIND,
    id,
    parent: accountId,
    doc: { ...doc },
    secrets: null,
    uniqueKeys: [credentialKey(doc.credential_id)],
    references: [],
  };
}

interface InvitationPorts {
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
