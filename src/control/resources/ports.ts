import type { TObject } from 'typebox';
import type { Clock } from '../../kit/clock.ts';
import type { ReportedFinding } from '../../kit/findings.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { Ref } from '../../kit/schema/annotations.ts';
import type { RecordReader } from '../../store/replica/record-table.ts';
import type { HistoryQuery, Lease, OutboxEvent, PageQuery, RecordKey, StoredRecord } from '../../store/store.ts';
import type { EventType, OperationRequest, OperationResult, Principal } from './operation.ts';
import type { Beside } from './resource.ts';

/**
 * Ports that several resources use: each picks those that it needs. A port with one user stands in its folder, or
 * here if src/control/documents implements or reads it. A resource also names the parts of `documents`
 * (DocumentsPort) and `store` (Store) that it uses.
 */
export interface SharedPorts {
  readonly clock: Clock;
  readonly online: OnlinePort;
  readonly eventTypes: readonly EventType[];
  readonly hostCertificates: HostCertificates;
  readonly newId: (prefix: string) => string;
  /** Absolute URI of a path of this API. */
  readonly uri: (path: string) => string;
  /** Ref of any resource by its id; a nested one needs its parent's id. */
  readonly ref: (id: string, parentId?: string) => Ref;
  /** See live-operations.ts. */
  readonly liveEvent: (type: string, object: () => JsonObject, apiKeyId: string) => readonly OutboxEvent[];
}

/** For resources that only read the configuration. */
export interface ReadingPorts {
  readonly documents: Pick<DocumentsPort, 'reader'>;
}

/** Certificates by host name. */
export interface HostCertificates {
  /** The record of a name under management. */
  managed(hostname: string): StoredRecord | undefined;
  /** Id of the uploaded certificate that is valid for the name now. */
  uploaded(hostname: string): string | null;
}

type OnlineKind = Exclude<Lease['kind'], 'node' | 'farewell'>;

export type OnlineItem = Pick<Lease, 'id' | 'parent' | 'credentialId' | 'doc'>;

/** Agents' sessions, tunnels and endpoints that receive traffic now, of all nodes. */
export interface OnlinePort {
  get(kind: OnlineKind, id: string): Promise<OnlineItem | null>;
  /** Newest first. */
  list(kind: OnlineKind, query: PageQuery): Promise<readonly OnlineItem[]>;
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

export interface RecordChange {
  readonly config?: JsonObject;
  /** Pointers to secrets that the change removes although its caller cannot see them. */
  readonly clearedSecrets?: ReadonlySet<string>;
  /** Read-only fields that the resource maintains itself, such as a destination's status. */
  readonly derived?: JsonObject;
  /** The object created inside the record, remembered under the request's Idempotency-Key. */
  readonly made?: RecordKey;
  readonly beside?: Beside;
  /**
   * What is beside it gives somebody more: held off while a pending change concerns the record, as a change of it is.
   */
  readonly isGiving?: true;
  /** One of the resource's `otherEvents`. */
  readonly event?: string;
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

export interface ChangePorts extends Pick<SharedPorts, 'uri'> {
  readonly changes: ChangesPort;
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
  /**
   * The words of a text in lower case, with the ids of people, service accounts and guest links whose names they occur
   * in.
   */
  callers(
    text: string,
    request: Pick<OperationRequest, 'principal'>,
  ): Promise<readonly { readonly text: string; readonly ids: readonly string[] }[]>;
}

/** The largest number of problems in one answer. */
export const PROBLEMS_MAX_LIMIT = 200;

export interface FoundProblem {
  readonly severity: 'problem' | 'warning' | 'hint';
  readonly check: string;
  readonly message: string;
  readonly advice: string | null;
  readonly object: Ref | null;
}

interface PassedCheck {
  readonly check: string;
  readonly count: number;
  /** About the first ones. */
  readonly messages: readonly string[];
}

export interface ProblemsFound {
  /** The worst first. */
  readonly problems: readonly FoundProblem[];
  /** Counts everything that the key may read. */
  readonly counts: Readonly<Record<FoundProblem['severity'], number>>;
  readonly checkedAtMs: number;
  /** What is fine, by check. */
  readonly passed: readonly PassedCheck[];
  /** Checks about objects that the key may not read. */
  readonly skipped: readonly string[];
}

export interface ProblemsPort {
  find(limit: number, request: Pick<OperationRequest, 'principal'>): Promise<ProblemsFound>;
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
  readonly problems: readonly ReportedFinding[];
}
