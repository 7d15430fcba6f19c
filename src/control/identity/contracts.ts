import type { HeaderList } from '../../kit/http/header-values.ts';
import type { WholeAnswer, WholeRequest } from '../../kit/http/whole-request.ts';
import type { JsonObject } from '../../kit/json.ts';

export interface IdentityAddress {
  /** Without the port. */
  readonly hostname: string;
  readonly issuer: string;
}

/** Null: identity is off. */
export function identityAddress(host: string | null): IdentityAddress | null {
  return host === null ? null : { hostname: host.replace(/:\d+$/, ''), issuer: `https://${host}` };
}

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
  /** Passkeys that work. */
  passkeysOf(accountId: string): readonly PersonalPasskey[];
  passkeyByCredential(credentialId: string): PersonalPasskey | undefined;
  /** False: the inviter of the person could not give what the person may do now. */
  isEnough(passkey: Pick<PersonalPasskey, 'id'>): boolean;
  /** Changes nothing. Asks other nodes if this one does not know a secret that is genuine. */
  invitation(secret: string): Promise<FoundInvitation>;
  /**
   * Spends the invitation and stores the passkey. `spent`: somebody was faster, or an administrator made another one.
   */
  acceptInvitation(
    secret: string,
    passkey: NewPasskey,
  ): Promise<AcceptedInvitation | { readonly problem: InvitationProblem | 'taken' }>;
  /**
   * `provedBy`: id of the passkey with which the person proved who they are: the new one is a way to no more. Null: a
   * code. `taken`: the authenticator's credential belongs to a passkey already.
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
  logOut(accountId: string): Promise<void>;
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
  /**
   * Whether a session that began with this passkey may go on: see `IdentityPeople.isEnough`. A passkey that is gone
   * never is for people of the console.
   */
  isEnough(accountId: string, passkeyId: string): boolean;
}

interface KnownPerson {
  /** Changes when anything below changes. */
  readonly revision: number;
  /** `sub`, `email`, `email_verified`, `name`, `groups`. */
  readonly claims: JsonObject;
  readonly groups: readonly string[];
}

/** Who is logged in at the identity host with a browser. */
export interface IdentitySession {
  readonly id: string;
  readonly accountId: string;
  readonly authenticatedAtMs: number;
  /** How the person proved who they are (RFC 8176): a passkey, or a code by e-mail. */
  readonly amr: readonly ProofKind[];
  /** Id of the passkey that it began with; null: a code. */
  readonly passkeyId: string | null;
}

export type ProofKind = 'pop' | 'otp';

export interface LoginProof {
  readonly accountId: string;
  readonly amr: ProofKind;
  /** Id of the passkey; null: a code. */
  readonly passkeyId: string | null;
  /** The application that waits for the login; null: the browser goes to `to`. */
  readonly interactionId: string | null;
  /** A path of the identity host. */
  readonly to: string;
}

/** An application's request for a login, which waits in the browser. */
export interface WaitingInteraction {
  readonly id: string;
  /** Name of the application. */
  readonly application: string;
  /** A session is not enough: the application asks for a new proof. */
  readonly mustProveAgain: boolean;
}

/** A person is about to log in for the first time at an address that an agent publishes. */
export interface WaitingConsent {
  readonly id: string;
  readonly accountId: string;
  readonly host: string;
  /** The agent's credential. */
  readonly credentialId: string;
  readonly description: string;
}

export interface ShownSession {
  readonly id: string;
  readonly startedAtMs: number;
  /** Applications that the session has logged in to. */
  readonly applications: readonly ShownApplication[];
}

export interface ShownApplication {
  /** The client's id. */
  readonly id: string;
  readonly name: string;
}

/** An address of an agent whose service may learn who the person is. */
export interface GivenConsent {
  readonly host: string;
  readonly credentialId: string;
  readonly givenAtMs: number;
}

export interface IdentitySessions {
  of(request: WholeRequest): Promise<IdentitySession | null>;
  /** After a proof. The browser's earlier session ends. */
  logIn(request: WholeRequest, proof: LoginProof): Promise<WholeAnswer>;
  /** The application that waits gets the login of the browser's session; null: that is not enough for it. */
  resume(request: WholeRequest, interactionId: string): Promise<WholeAnswer | null>;
  /** Ends the browser's session; the answer must have these headers. */
  logOut(request: WholeRequest): Promise<HeaderList>;
  /** Null if the request names none, or one that is over. */
  interactionOf(request: WholeRequest): Promise<WaitingInteraction | null>;
  /** Null if the request names none, if it is over, or if it is that of another session. */
  consentOf(request: WholeRequest): Promise<WaitingConsent | null>;
  /** What the person of `consentOf` decided; null: it is over. */
  decideConsent(request: WholeRequest, isGiven: boolean): Promise<WholeAnswer | null>;
  list(accountId: string): Promise<readonly ShownSession[]>;
  /** False when it did not exist. */
  end(accountId: string, sessionId: string): Promise<boolean>;
  /** Ends one application of a session, which goes on. False when there was nothing to end. */
  endApplication(accountId: string, sessionId: string, applicationId: string): Promise<boolean>;
  consents(accountId: string): Promise<readonly GivenConsent[]>;
  /** The person's logins at that address end too, and the next one asks again. */
  withdrawConsent(accountId: string, consent: Pick<GivenConsent, 'host' | 'credentialId'>): Promise<void>;
}

/** One page or form of the identity host. */
export interface IdentityPage {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  serve(request: WholeRequest): Promise<WholeAnswer> | WholeAnswer;
}

/** The server of the identity host. */
export interface IdentityHost {
  /** `https://` and the setting `identity_host`. */
  readonly issuer: string;
  /** Without the port. */
  readonly hostname: string;
  serve(request: WholeRequest): Promise<WholeAnswer>;
}

/** A message to one person. */
export interface PersonalMail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** The mail is not sent after this time. */
  readonly expiresAtMs: number;
}

/** The queue of outgoing mail; it is in the store, so that any node sends what another accepted. */
export interface IdentityMail {
  /** False: no server for mail is set, or the queue is full. */
  enqueue(mail: PersonalMail): Promise<boolean>;
}
