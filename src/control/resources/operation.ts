import type { TObject, TSchema } from 'typebox';
import type { ErrorCode } from '../../kit/errors.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { DocumentsPort } from './ports.ts';

/**
 * One operation of the management API. The HTTP server, the OpenAPI document, `postern api` and the client are all
 * built from the list of these; none of them knows a noun by name. `Ports`: what it uses beside the request; an
 * operation whose ports are not named can be described, but not run.
 */
export interface Operation<in Ports = never> {
  /** `<resource>.<verb>`, unique; also the OpenAPI operationId and the command's two words. */
  readonly resource: string;
  readonly verb: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  /** Allowed query parameters; unknown ones are rejected. */
  readonly query?: TObject;
  readonly body?: OperationBody;
  readonly success: { readonly status: number; readonly schema: TSchema | null; readonly description: string };
  readonly errors: readonly ErrorCode[];
  /** Scopes that a key needs, all of them. Absent: that of the method and path. */
  readonly scopes?: readonly string[];
  /** Honors `If-Match`, and `If-None-Match` unless it creates. */
  readonly isConditional?: boolean;
  /** Every success has Postern-Revision. Conditional writes and creates with a key always do. */
  readonly returnsRevision?: true;
  /** Honors `Idempotency-Key`. */
  readonly isIdempotentByKey?: boolean;
  /** Accepts `Service-Version: 0` too. */
  readonly acceptsVersion0?: boolean;
  readonly run: (request: OperationRequest, ports: Ports) => Promise<OperationResult> | OperationResult;
  /** For a write of documents and nothing else: a changeset runs it on staged ones. */
  runOn?(documents: DocumentsPort, request: OperationRequest): Promise<OperationResult>;
}

export interface OperationBody {
  readonly schema: TSchema;
  readonly example: JsonObject;
  /** `ignored`: existing clients send a bare id, which is not even JSON. */
  readonly parsing?: 'ignored';
  /** The operation decodes the body itself, by the rules of its resource; otherwise `schema` decodes it first. */
  readonly isDecodedByOperation?: boolean;
  /** Larger than usual: at most this many bytes. */
  readonly maxBytes?: number;
  /** A body wrapped as `{"module": {…}}` is unwrapped. */
  readonly canBeWrapped?: boolean;
}

export interface OperationRequest {
  readonly operationId: string;
  readonly principal: Principal;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  /** Path parameters that the client repeated have been removed. */
  readonly body: JsonObject;
  /** Revisions listed in `If-Match`; null when the header is absent, `'any'` for `*`. */
  readonly ifMatch: readonly number[] | 'any' | null;
  /** Revisions listed in `If-None-Match`; null when the header is absent, `'any'` for `*`. */
  readonly ifNoneMatch: readonly number[] | 'any' | null;
  readonly idempotency: { readonly scope: string; readonly bodyHash: string } | null;
  readonly version: 0 | 2;
  /** The request used the retired service's header name: its clients type some fields differently. */
  readonly isLegacyClient: boolean;
  /** IP address of the client; absent for the server itself. */
  readonly address?: string | undefined;
  /**
   * For operations that take long: rejects if the key was deleted or lost scopes since. Absent for the server itself.
   */
  readonly authenticateAgain?: () => Promise<void>;
}

export interface OperationResult {
  readonly body: JsonObject | null;
  /** Set where it differs from the operation's success status. */
  readonly status?: number;
  /** The body as text, if already serialized. */
  readonly text?: string;
  /** The body as text in parts, if it is too long to be serialized in one turn. */
  readonly parts?: AsyncIterable<string>;
  readonly etag?: number;
  /** The body has fields that change without the ETag: a client that knows the ETag does not know them. */
  readonly hasLiveFields?: boolean;
  /** The revision that a write created or confirmed. */
  readonly revision?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface EventType {
  readonly type: string;
  readonly description: string;
  /** The scope a key needs to see such events or to have them sent somewhere. */
  readonly scope: string;
  readonly object: EventObject;
}

/**
 * What an event is about: a resource as GET shows it, without live fields; `isPartial` if it may be known by its id
 * only. Several resources may share a type.
 */
export type EventObject =
  | { readonly resources: readonly string[]; readonly isPartial?: boolean }
  | { readonly schema: TObject };

/** How the name of a caller starts that runs a command on the machine of a node and has no key: `local:NODE`. */
export const LOCAL_CALLER = 'local:';

/** The authenticated caller. */
export interface Principal {
  /** For a person, the id of the session. For a command on the machine of the server, `local:NODE`. */
  readonly apiKeyId: string;
  /** Name of a person who logged in with OpenID Connect. */
  readonly person?: string;
  /** Who the person is at the OpenID provider. */
  readonly identity?: { readonly issuer: string | null; readonly subject: string };
  readonly scopes: readonly string[];
}
