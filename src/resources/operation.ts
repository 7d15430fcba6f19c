import type { TObject, TSchema } from 'typebox';
import type { Clock } from '../lib/clock.ts';
import type { ErrorCode } from '../lib/errors.ts';
import type { JsonObject } from '../lib/json.ts';
import type { Ref } from '../lib/schema/annotations.ts';
import type { RecordReader } from '../replica/record-reader.ts';
import type { RecordKey, Store, StoredRecord } from '../store/store.ts';

/**
 * One operation of the management API. The HTTP face, the OpenAPI document, `postern api` and the client are all made
 * from the list of these; none of them knows a noun by name.
 */
export interface Operation {
  /** `<resource>.<verb>`, unique; also the OpenAPI operationId and the command's two words. */
  readonly resource: string;
  readonly verb: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  /** Query parameters beyond none: unknown ones are refused. */
  readonly query?: TObject;
  readonly body?: OperationBody;
  readonly success: { readonly status: number; readonly schema: TSchema | null; readonly description: string };
  readonly errors: readonly ErrorCode[];
  /** Honours `If-Match`. */
  readonly isConditional?: boolean;
  /** Honours `Idempotency-Key`. */
  readonly isIdempotentByKey?: boolean;
  /** Accepts `Service-Version: 0` too. */
  readonly acceptsVersion0?: boolean;
  run(request: OperationRequest, ports: OperationPorts): Promise<OperationResult> | OperationResult;
}

export interface OperationBody {
  readonly schema: TSchema;
  readonly example: JsonObject;
  /** `ignored`: existing clients send a bare id, which is not even JSON. */
  readonly parsing?: 'ignored';
  /** The operation decodes the body itself, by the rules of its resource; else it is decoded by `schema` before. */
  readonly isDecodedByOperation?: boolean;
  /** A body wrapped as `{"module": {…}}` is taken as its inside. */
  readonly canBeWrapped?: boolean;
}

export interface OperationRequest {
  readonly operationId: string;
  readonly principal: Principal;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  /** Path parameters that the client repeated are already taken out. */
  readonly body: JsonObject;
  /** Revisions named by `If-Match`; null when the header is absent, `'any'` for `*`. */
  readonly ifMatch: readonly number[] | 'any' | null;
  readonly idempotency: { readonly scope: string; readonly bodyHash: string } | null;
  readonly version: 0 | 2;
  /** The request came with the retired service's header name: its clients type some fields differently. */
  readonly isLegacyClient: boolean;
}

export interface OperationResult {
  readonly body: JsonObject | null;
  /** Where it differs from the operation's success status. */
  readonly status?: number;
  /** The body as text, where it is at hand already. */
  readonly text?: string;
  readonly etag?: number;
  /** The revision that a write took or confirmed. */
  readonly revision?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface EventType {
  readonly type: string;
  readonly description: string;
  /** What a key needs to have such events sent somewhere, or to see them. */
  readonly scope: string;
}

export interface OperationPorts {
  readonly documents: DocumentsPort;
  readonly store: Store;
  readonly clock: Clock;
  readonly sessionCommands: SessionCommands;
  /** Null while no part of this server delivers events. */
  readonly destinationTester: DestinationTester | null;
  readonly eventTypes: readonly EventType[];
  /** Of this process, as the setting has it. */
  readonly region: string;
  readonly newId: (prefix: string) => string;
  /** Absolute URI of a path of this API. */
  readonly uri: (path: string) => string;
  /** Ref of any resource by its id; a nested one needs the id that it is nested under. */
  readonly ref: (id: string, parentId?: string) => Ref;
}

/** What operations outside the generated ones may do with configuration. */
export interface DocumentsPort {
  readonly reader: RecordReader;
  /** The record, or a 404 that says what was not found. */
  require(kind: string, id: string): StoredRecord;
  /**
   * Changes one record, trying again when another writer was quicker. `change` gets the current configuration, answers
   * what becomes different, and may throw to refuse.
   */
  update(
    kind: string,
    id: string,
    request: OperationRequest,
    change: (config: JsonObject) => RecordChange,
  ): Promise<{ readonly record: StoredRecord; readonly revision: number }>;
  /**
   * Runs a create that is done once per Idempotency-Key; without the header it just runs. The create's write has to say
   * what it `made`; `replay` answers for that when the request comes again, null when it cannot be answered twice.
   */
  once(
    request: OperationRequest,
    create: () => Promise<OperationResult>,
    replay: (id: string) => Promise<OperationResult | null>,
  ): Promise<OperationResult>;
  /** A resource as GET shows it to this principal. */
  render(record: StoredRecord, principal: Principal): JsonObject;
}

export interface RecordChange {
  readonly config?: JsonObject;
  /** Pointers of secrets that the change takes away, though its caller cannot see them. */
  readonly clearedSecrets?: ReadonlySet<string>;
  /** Read-only fields that the resource keeps of itself, such as a destination's status. */
  readonly derived?: JsonObject;
  /** What the change creates inside the record, to be remembered under the request's Idempotency-Key. */
  readonly made?: RecordKey;
}

export type SessionCommand = 'stop' | 'restart' | 'update';

/** Reaches the process that holds an agent's session. */
export interface SessionCommands {
  /** `refused`: in the agent's words. */
  send(sessionId: string, command: SessionCommand): Promise<'accepted' | 'unreachable' | { readonly refused: string }>;
}

/** Reaches the part that delivers events. */
export interface DestinationTester {
  /** Sends a sample event and reports what came back. */
  test(destination: StoredRecord): Promise<JsonObject>;
}

/** Who asks. */
export interface Principal {
  readonly apiKeyId: string;
  readonly scopes: readonly string[];
}
