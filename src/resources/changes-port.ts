import type { JsonObject } from '../lib/json.ts';
import type { HistoryQuery } from '../store/store.ts';
import type { OperationRequest, OperationResult, Principal } from './operation.ts';

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
