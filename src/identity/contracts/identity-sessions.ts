import type { HeaderList } from '../../lib/http/header-list.ts';
import type { WholeAnswer, WholeRequest } from '../../lib/http/whole-request.ts';

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

export interface SignInProof {
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
  signIn(request: WholeRequest, proof: SignInProof): Promise<WholeAnswer>;
  /** The application that waits gets the login of the browser's session; null: that is not enough for it. */
  resume(request: WholeRequest, interactionId: string): Promise<WholeAnswer | null>;
  /** Ends the browser's session; the answer must have these headers. */
  signOut(request: WholeRequest): Promise<HeaderList>;
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
