import type { JsonValue } from '../../lib/json.ts';
import type { ObjectKind } from '../sections.ts';

/** `replace`: a field changes that cannot be changed, so that another object takes its place. */
export type ChangeAction = 'add' | 'change' | 'replace' | 'remove';

export interface FieldChange {
  /** Dotted, with the names of the file. */
  readonly path: string;
  readonly before?: JsonValue;
  readonly after?: JsonValue;
  /** In place of values, which are never shown. `unknown`: the server does not tell. */
  readonly secret?: 'set' | 'changed' | 'removed' | 'unknown';
}

/** An object whose fields, modules or children change. */
export interface ObjectChange {
  readonly action: ChangeAction;
  readonly kind: ObjectKind;
  readonly name: string;
  readonly fields: readonly FieldChange[];
  readonly children: readonly ObjectChange[];
}

/** A write of the changeset. */
export interface PlannedOperation {
  readonly method: 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: Readonly<Record<string, JsonValue>>;
  /** Fields that only the server can compare: the operation counts if it changes something. */
  readonly undecided?: { readonly object: ObjectChange; readonly isWhole: boolean };
}
