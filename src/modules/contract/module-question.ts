import type { TObject } from 'typebox';
import type { JsonObject } from '../../lib/json.ts';
import type { FieldProblem } from '../../lib/schema/field-problem.ts';
import type { LearnedClaims } from '../learned-claims.ts';
import type { LoginSession } from '../login/login-store.ts';
import type { AskedClaims } from './learns-claims.ts';

/**
 * A read-only operation of the API below a module's path, such as a test of its rules. Its body may contain a proposed
 * configuration under the module's name, which is decoded like a PUT and answered for instead of the stored one.
 */
export interface ModuleQuestion {
  readonly verb: string;
  /** Last segment of the path. */
  readonly path: string;
  /** A GET has no body. */
  readonly method: 'GET' | 'POST';
  readonly summary: string;
  readonly description: string;
  readonly query?: TObject;
  /** Fields of the body beside the proposed configuration: each is optional or has a default. */
  readonly fields?: TObject;
  /** The proposed configuration must be there. */
  readonly needsProposal?: true;
  readonly example?: JsonObject;
  readonly result: TObject;
  /** Scopes that are needed beside that of reading the route or edge. */
  readonly alsoReads?: readonly string[];
  answer(asked: Asked, ports: QuestionPorts): QuestionResult | Promise<QuestionResult>;
}

export type QuestionResult = JsonObject | { readonly problems: readonly FieldProblem[] };

export interface Asked {
  /** The stored or the proposed configuration. */
  readonly config: JsonObject;
  readonly place: { readonly edgeId: string; readonly routeId: string };
  readonly fields: JsonObject;
  readonly query: Readonly<Record<string, string>>;
}

export interface QuestionPorts {
  readonly nowMs: number;
  /** A configuration record's document, without its secrets. */
  record(kind: string, id: string): JsonObject | undefined;
  /** All logins that have not ended, newest first, page by page. */
  sessions(): AsyncIterable<readonly LoginSession[]>;
  /**
   * What logins of the route bring, if its rules asked for these claims; null: it has no login.
   */
  learnedClaims(place: Asked['place'], asked: readonly AskedClaims[]): Promise<LearnedClaims | null>;
  /** What on the route reads the paths of requests, such as `rewrite rules[0] path_prefix /old/`; null: nothing does. */
  pathReader(place: Asked['place']): string | null;
  /** Ref of a resource. */
  ref(id: string): JsonObject;
  /** Milliseconds of a time in RFC 3339; throws the API's error about this query parameter. */
  time(parameter: string, text: string): number;
}
