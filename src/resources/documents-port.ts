import type { JsonObject } from '../lib/json.ts';
import type { RecordReader } from '../replica/record-reader.ts';
import type { RecordKey, StoredRecord } from '../store/store.ts';
import type { OperationRequest, OperationResult, Principal } from './operation.ts';

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
}
