import type { TObject } from 'typebox';
import type { JsonObject } from '../lib/json.ts';
import type { OperationRequest, OperationResult, Principal } from './operation.ts';

/** Runs the writes of a changeset, which the request's body contains. */
export interface ChangesetsPort {
  /** The body was not decoded yet: `schema` does that in slices. */
  run(request: OperationRequest, schema: TObject): Promise<OperationResult>;
  /** What an owner's files had, among the resources that the caller may read. */
  claims(owner: string | null, principal: Principal): JsonObject;
}
