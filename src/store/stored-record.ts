import type { JsonObject } from '../kit/json.ts';

export interface RecordKey {
  readonly kind: string;
  readonly id: string;
}

export interface StoredRecord extends RecordKey {
  /** Id of the parent record: this record is deleted with it. */
  readonly parent: string | null;
  readonly revision: number;
  readonly doc: JsonObject;
  /** Secret fields by name. Plain in memory, sealed at rest with the secret key. */
  readonly secrets: Secrets | null;
}

export type Secrets = Readonly<Record<string, string>>;

/** A page of a list that is ordered newest first, by id in byte order. */
export interface PageQuery {
  /** Only ids below this one; the record itself may be deleted. */
  readonly beforeId: string | null;
  readonly limit: number;
}
