import type { JsonObject } from '../../lib/json.ts';

/** What modules declare about the claims of people: some have rules about them, others learn them by a login. */
export interface DeclaresClaims {
  /** For a module with rules about people: the claims that each rule reads, `email` for addresses. */
  readonly askedClaims?: (config: JsonObject) => readonly AskedClaims[];
  /** For a login module: its client on a route. Null: it cannot log anybody in. */
  readonly learnsFrom?: (config: JsonObject, context: LearningContext) => LearningClient | null;
}

/** The claims that a rule reads. */
export interface AskedClaims {
  /** Its place, such as `allow[0]`. */
  readonly rule: string;
  readonly claims: readonly string[];
}

export interface LearningContext {
  readonly edgeId: string;
  /** The settings of the login module. */
  readonly settings: object;
  readonly asked: readonly AskedClaims[];
}

/** The client of a login at its provider, with what it requests. */
export interface LearningClient {
  readonly issuer: string;
  readonly clientId: string;
  /** Whether the issuer is an OpenID provider elsewhere, which can be asked for its endpoints. */
  readonly isDiscovered: boolean;
  readonly scopes: readonly string[];
  /** Scopes of which one must be requested to learn the claim; empty: nobody can say. */
  readonly scopesFor: (claim: string) => readonly string[];
}
