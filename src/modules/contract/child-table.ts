import type { ChildRecord } from './prepare.ts';

/**
 * A capability: what a module makes of all records that belong to another one, such as a table of the rules of a policy.
 * Each thread makes it once, for all routes that ask for it, and changes it by the records that changed. A route that
 * asked for it is prepared again when one of them changes.
 */
export interface ChildTable<Value> {
  /** The kind of the records. */
  readonly kind: string;
  /** The kind of the record that they belong to, which the route must read too. */
  readonly parentKind: string;
  readonly empty: Value;
  /**
   * The table after a record was added (`before` null), replaced or removed (`after` null). `value` stays as it is: routes
   * that were prepared with it are still served. A record that cannot be read is part of the value, not an exception.
   */
  changed(value: Value, before: ChildRecord | null, after: ChildRecord | null): Value;
}

export interface DeclaresChildTables {
  readonly childTables?: readonly ChildTable<unknown>[];
}

/** Reads a table while a module is prepared. */
export type ReadsChildTables = <Value>(table: ChildTable<Value>, parentId: string) => Value;
