import type { JsonObject } from '../../lib/json.ts';

/** A person with an account, as the replica knows it now. */
export interface Person {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly isActive: boolean;
}

export interface PersonalPasskey {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  /** In base64url, like the public key in COSE form. */
  readonly credentialId: string;
  readonly publicKey: string;
  readonly transports: readonly string[];
  readonly isBackedUp: boolean;
  readonly createdAtMs: number;
  /** The highest that the authenticator has sent; 0: it does not count. */
  readonly signCount: number;
  readonly lastUsedAtMs: number | null;
}

/** What a registration has proved. */
export interface NewPasskey {
  readonly name: string;
  readonly credentialId: string;
  readonly publicKey: string;
  readonly signCount: number;
  readonly transports: readonly string[];
  readonly isBackedUp: boolean;
  readonly deviceType: 'singleDevice' | 'multiDevice';
}

export type InvitationProblem = 'unknown' | 'expired' | 'spent' | 'replaced' | 'disabled';

export type FoundInvitation =
  | { readonly account: Person; readonly expiresAtMs: number }
  | { readonly problem: InvitationProblem };

export interface AcceptedInvitation {
  readonly account: Person;
  readonly passkeyId: string;
}

/**
 * What pages read and write of people. Each write is one transaction, and is decided by the store: of two that exclude
 * each other, on any nodes, one succeeds.
 */
export interface IdentityPeople {
  account(id: string): Person | undefined;
  /** Addresses are compared as `access` compares them. */
  accountByEmail(email: string): Person | undefined;
  /** Whether the setting console_roles lets the person into the console, now or if a pending change is reverted. */
  hasConsoleRole(accountId: string): boolean;
  /** Those that work. */
  passkeysOf(accountId: string): readonly PersonalPasskey[];
  passkeyByCredential(credentialId: string): PersonalPasskey | undefined;
  /** False: the inviter of the person could not give what the person may do now. */
  isEnough(passkey: Pick<PersonalPasskey, 'id'>): boolean;
  /** Changes nothing. Asks other nodes if this one does not know a secret that is genuine. */
  invitation(secret: string): Promise<FoundInvitation>;
  /** Spends the invitation and stores the passkey. `spent`: somebody was faster, or an administrator made another one. */
  acceptInvitation(
    secret: string,
    passkey: NewPasskey,
  ): Promise<AcceptedInvitation | { readonly problem: InvitationProblem | 'taken' }>;
  /**
   * `provedBy`: id of the passkey with which the person proved who they are: the new one is a way to no more. Null: a code.
   * `taken`: the authenticator's credential belongs to a passkey already.
   */
  addPasskey(accountId: string, passkey: NewPasskey, provedBy: string | null): Promise<'added' | 'taken' | 'gone'>;
  renamePasskey(passkeyId: string, name: string): Promise<boolean>;
  /** Never the last one of a person. */
  removePasskey(passkeyId: string): Promise<'removed' | 'last' | 'gone'>;
  /** False: the passkey was used with this count or a higher one meanwhile, or is gone. */
  recordPasskeyUse(
    passkey: PersonalPasskey,
    use: { readonly signCount: number; readonly atMs: number },
  ): Promise<boolean>;
  /** Ends all logins of the person, on every node, with the console and other applications. The passkeys stay. */
  signOut(accountId: string): Promise<void>;
  /** `last_login_at` of the account. */
  recordLogin(accountId: string, atMs: number): Promise<void>;
}

/** What logins need to know of people, from memory. */
export interface IdentityPeopleReader {
  /** Null: there is no such person, or they may not log in. */
  find(accountId: string): KnownPerson | null;
}

/** The same for sessions at the identity host. */
export interface ProvedPeopleReader extends IdentityPeopleReader {
  /** Whether a session that began with this passkey may go on: see `IdentityPeople.isEnough`. A passkey that is gone never is for people of the console. */
  isEnough(accountId: string, passkeyId: string): boolean;
}

export interface KnownPerson {
  /** Changes when anything below changes. */
  readonly revision: number;
  /** `sub`, `email`, `email_verified`, `name`, `groups`. */
  readonly claims: JsonObject;
  readonly groups: readonly string[];
}
