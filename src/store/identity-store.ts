import type { JsonObject } from '../kit/json.ts';
import type { RecordKey } from './stored-record.ts';

/** What the OpenID provider keeps about a person who has proved who they are: a session, a grant, a code, a token. */
export interface IdentityArtifact {
  /** The provider's name for the kind: `Session`, `Grant`, `AuthorizationCode` … */
  readonly model: string;
  /** A secret of the browser or the application. The store keeps its hash. */
  readonly id: string;
  readonly accountId: string;
  /** Absent for sessions and for grants themselves. */
  readonly grantId: string | null;
  /** The session at the identity host that it came from; of a session, its own. */
  readonly sessionUid: string | null;
  /** The application that must hear of its end. */
  readonly application: LoggedInApplication | null;
  readonly payload: JsonObject;
  readonly expiresAtMs: number;
}

export interface LoggedInApplication {
  readonly clientId: string;
  /** `sid` in the application's tokens. */
  readonly providerSessionId: string;
}

export interface FoundArtifact {
  readonly payload: JsonObject;
  readonly expiresAtMs: number;
  /** Null: it can still be used. */
  readonly consumedAtMs: number | null;
}

/** A person whose logins end everywhere: see `WriteSet.endsPeople`. */
export interface EndedPerson {
  /** Issuer of the logins on routes. */
  readonly issuer: string;
  readonly accountId: string;
}

/** The end of one session at the identity host. */
export interface EndedIdentitySession {
  readonly issuer: string;
  readonly sessionUid: string;
  /** `sid` of all its logins. */
  readonly providerSessionId: string;
}

/** The end of one application in a session at the identity host, which goes on. */
export interface EndedApplication extends EndedIdentitySession {
  readonly clientId: string;
}

/** A session at the identity host without one of its applications. */
export interface SessionWithoutApplication {
  readonly payload: JsonObject;
  /** What the application got in the session; null: nothing. */
  readonly grantId: string | null;
}

/** An application that must hear of the end of a session (OpenID Connect Back-Channel Logout 1.0). */
export interface DueLogout extends LoggedInApplication {
  readonly id: string;
  readonly accountId: string;
  readonly attempts: number;
}

/**
 * Live state of Postern's own OpenID provider. Nothing about visitors is in it who have not proved who they are.
 *
 * Every artifact depends on another one, and is written only while that exists: a session on an active person, a grant
 * and a decision on its session, everything else on its grant. So a write that was in progress while a person was
 * logged out brings nothing back.
 */
export interface IdentityStore {
  /** A new session. False when the person does not exist or is not active. */
  beginSession(session: IdentityArtifact, person: RecordKey): Promise<boolean>;
  /** Replaces a session, perhaps under a new id. False when it has ended. */
  replaceSession(session: IdentityArtifact): Promise<boolean>;
  /**
   * What a person decided in a session, and what outlasts it: it ends with the person. False when the session has
   * ended.
   */
  remember(decision: IdentityArtifact): Promise<boolean>;
  /** False when what it depends on has ended. */
  put(artifact: IdentityArtifact): Promise<boolean>;
  find(model: string, id: string): Promise<FoundArtifact | null>;
  findSession(sessionUid: string): Promise<FoundArtifact | null>;
  /** All of one kind that a person has. */
  list(model: string, accountId: string): Promise<readonly FoundArtifact[]>;
  /** True for one caller across all processes. */
  consume(model: string, id: string): Promise<boolean>;
  remove(model: string, id: string): Promise<void>;
  /** With everything that depends on it. */
  removeGrant(grantId: string): Promise<void>;
  /** In one transaction: everything that came from the session, and its logins on routes. False when it was over. */
  endSession(session: EndedIdentitySession): Promise<boolean>;
  /**
   * In one transaction: the application leaves the session, and its grant and its logins on routes end. `without` may
   * be called again when the session has changed meanwhile; null: it does not have the application. False: nothing
   * ended.
   */
  endApplication(
    application: EndedApplication,
    without: (session: JsonObject) => SessionWithoutApplication | null,
  ): Promise<boolean>;
  hasDueLogouts(nowMs: number): Promise<boolean>;
  /** Logouts that are due; another caller gets them only after `retryAtMs`. */
  claimLogouts(nowMs: number, retryAtMs: number): Promise<readonly DueLogout[]>;
  settleLogouts(ids: readonly string[]): Promise<void>;
}
