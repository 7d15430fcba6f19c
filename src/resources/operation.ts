import type { TObject, TSchema } from 'typebox';
import type { Clock } from '../lib/clock.ts';
import type { ErrorCode } from '../lib/errors.ts';
import type { JsonObject } from '../lib/json.ts';
import type { Ref } from '../lib/schema/annotations.ts';
import type { RecordReader } from '../replica/record-reader.ts';
import type { HistoryQuery, Lease, PageQuery, RecordKey, Store, StoredRecord } from '../store/store.ts';
import type { FoundRequests } from '../telemetry/requests/installation-requests.ts';
import type { RequestFilter } from '../telemetry/requests/request-filter.ts';
import type { ExplainedRequest, HypotheticalRequest } from './explain/explained-request.ts';
import type { ProblemsPort } from './problems-port.ts';

/**
 * One operation of the management API. The HTTP server, the OpenAPI document, `postern api` and the client are all built
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
  run(request: OperationRequest, ports: OperationPorts): Promise<OperationResult> | OperationResult;
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
  /** For operations that take long: rejects if the key was deleted or lost scopes since. Absent for the server itself. */
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
 * What an event is about: a resource as GET shows it, without live fields; `isPartial` if it may be known by its id only.
 * Several resources may share a type.
 */
export type EventObject =
  | { readonly resources: readonly string[]; readonly isPartial?: boolean }
  | { readonly schema: TObject };

export interface OperationPorts {
  readonly documents: DocumentsPort;
  readonly changesets: ChangesetsPort;
  readonly changes: ChangesPort;
  readonly search: SearchPort;
  /** What is wrong with the installation. */
  readonly problems: ProblemsPort;
  readonly store: Store;
  readonly clock: Clock;
  readonly online: OnlinePort;
  readonly sessionCommands: SessionCommands;
  /** All servers of this installation, from memory. */
  readonly nodes: () => readonly ListedNode[];
  /** Requests that the edges of all nodes have finished. */
  readonly requests: RequestsPort;
  /** Traffic of all nodes over time. */
  readonly traffic: TrafficPort;
  /** Settings in effect in this process, with secrets masked. */
  readonly settings: () => readonly JsonObject[];
  /** What the edge of this node would do with a request. */
  readonly explain: (question: HypotheticalRequest) => Promise<ExplainedRequest>;
  /** Null when this server does not deliver events. */
  readonly destinationTester: DestinationTester | null;
  readonly eventTypes: readonly EventType[];
  readonly hostCertificates: HostCertificates;
  /** This process's region, from the settings. */
  readonly region: string;
  /** Limits of logins on a route as they apply now, in seconds; null when the route has no login module. */
  readonly loginLimits: (routeId: string) => LoginLimits | null;
  readonly newId: (prefix: string) => string;
  /** Absolute URI of a path of this API. */
  readonly uri: (path: string) => string;
  /** Ref of any resource by its id; a nested one needs its parent's id. */
  readonly ref: (id: string, parentId?: string) => Ref;
}

export interface ListedNode {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly roles: readonly string[];
  readonly region: string;
  readonly status: 'ready' | 'draining' | 'lost';
  readonly startedAtMs: number;
  readonly lastSeenAtMs: number;
  readonly peerAddress: string | null;
  readonly agents: number;
  readonly tunnels: number;
  readonly problems: readonly string[];
}

export interface RequestsPort {
  find(id: string): Promise<FoundRequests>;
  /** Newest first. */
  list(filter: RequestFilter, limit: number): Promise<FoundRequests>;
}

export interface TrafficPort {
  points(query: {
    readonly fromMs: number;
    readonly stepSeconds: number;
    readonly routeId: string | null;
  }): Promise<{ readonly points: readonly TrafficPoint[]; readonly nodes: FoundRequests['nodes'] }>;
  /** The busiest first. */
  routes(
    fromMs: number,
    limit: number,
  ): Promise<{ readonly routes: readonly RouteTraffic[]; readonly nodes: FoundRequests['nodes'] }>;
}

/** What happened within one step. */
export interface TrafficPoint {
  readonly atMs: number;
  readonly requests: number;
  readonly errors: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
}

export interface RouteTraffic extends Omit<TrafficPoint, 'atMs'> {
  readonly routeId: string;
  readonly edgeId: string;
}

export interface LoginLimits {
  readonly maximum_duration: number;
  readonly inactivity_timeout: number;
}

/** Certificates by host name. */
export interface HostCertificates {
  /** The record of a name under management. */
  managed(hostname: string): StoredRecord | undefined;
  /** Id of the uploaded certificate that is valid for the name now. */
  uploaded(hostname: string): string | null;
}

/** Configuration access for operations outside the generated ones. */
export interface DocumentsPort {
  readonly reader: RecordReader;
  /** The record, or a 404 that names what was not found. */
  require(kind: string, id: string): StoredRecord;
  /**
   * Changes one record, and retries when another writer was faster. `change` receives the current configuration,
   * returns the changed fields, and may throw to reject.
   */
  update(
    kind: string,
    id: string,
    request: OperationRequest,
    change: (config: JsonObject) => RecordChange,
  ): Promise<{ readonly record: StoredRecord; readonly revision: number }>;
  /**
   * Runs a create once per Idempotency-Key; without the header it just runs. The create's write must name what it
   * `made`; `replay` returns its response when the request is repeated, or null when it cannot be repeated.
   */
  once(
    request: OperationRequest,
    create: () => Promise<OperationResult>,
    replay: (id: string) => Promise<OperationResult | null>,
  ): Promise<OperationResult>;
  /** A resource as GET shows it to this principal. */
  render(record: StoredRecord, principal: Principal): JsonObject;
}

/** Runs the writes of a changeset, which the request's body contains. */
export interface ChangesetsPort {
  /** The body was not decoded yet: `schema` does that in slices. */
  run(request: OperationRequest, schema: TObject): Promise<OperationResult>;
  /** What an owner's files had, among the resources that the caller may read. */
  claims(owner: string | null, principal: Principal): JsonObject;
}

export interface SearchResult {
  readonly kind: string;
  readonly id: string;
  readonly uri: string;
  readonly title: string;
  /** The field in which the text occurs. */
  readonly matched: string;
}

/** Finds configuration by text. */
export interface SearchPort {
  find(
    text: string,
    limit: number,
    request: Pick<OperationRequest, 'principal'>,
  ): Promise<{ readonly results: readonly SearchResult[]; readonly hasMore: boolean }>;
}

/** The history of configuration. */
export interface ChangesPort {
  list(
    query: HistoryQuery,
    principal: Principal,
  ): Promise<{
    readonly changes: readonly JsonObject[];
    /** The last one that was looked at, readable or not. */
    readonly lastRevision: number | null;
    /** There may be more. */
    readonly isFull: boolean;
    /** The change that waits for its confirmation. */
    readonly pending: JsonObject | null;
  }>;
  get(revision: number, principal: Principal): Promise<OperationResult>;
  /** Whether every entry is as it was written. */
  verify(): Promise<JsonObject>;
  /** Keeps a change that waits for its confirmation. */
  confirm(revision: number, message: string, request: OperationRequest): Promise<OperationResult>;
  /** Takes a change that waits for its confirmation back, before its time is over. */
  revert(revision: number, message: string, request: OperationRequest): Promise<OperationResult>;
  undo(
    revision: number,
    options: { readonly isForced: boolean; readonly message: string },
    request: OperationRequest,
  ): Promise<OperationResult>;
}

export interface RecordChange {
  readonly config?: JsonObject;
  /** Pointers to secrets that the change removes although its caller cannot see them. */
  readonly clearedSecrets?: ReadonlySet<string>;
  /** Read-only fields that the resource maintains itself, such as a destination's status. */
  readonly derived?: JsonObject;
  /** The object created inside the record, remembered under the request's Idempotency-Key. */
  readonly made?: RecordKey;
}

export type SessionCommand = 'stop' | 'restart' | 'update';

export type OnlineKind = Exclude<Lease['kind'], 'node'>;
export type OnlineItem = Pick<Lease, 'id' | 'parent' | 'credentialId' | 'doc'>;

/** Agents' sessions, tunnels and endpoints that receive traffic now, of all nodes. */
export interface OnlinePort {
  get(kind: OnlineKind, id: string): Promise<OnlineItem | null>;
  /** Newest first. */
  list(kind: OnlineKind, query: PageQuery): Promise<readonly OnlineItem[]>;
}

/** Sends commands to the process that holds an agent's session. */
export interface SessionCommands {
  /** `refused`: the agent's message. */
  send(sessionId: string, command: SessionCommand): Promise<'accepted' | 'unreachable' | { readonly refused: string }>;
}

/** Connects to the part that delivers events. */
export interface DestinationTester {
  /** Sends a sample event and returns the outcome. */
  test(destination: StoredRecord): Promise<JsonObject>;
}

/** The authenticated caller. */
export interface Principal {
  /** For a person, the id of the session. */
  readonly apiKeyId: string;
  /** Name of a person who signed in with OpenID Connect. */
  readonly person?: string;
  /** Who the person is at the OpenID provider. */
  readonly identity?: { readonly issuer: string | null; readonly subject: string };
  readonly scopes: readonly string[];
}
