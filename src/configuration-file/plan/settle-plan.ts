import type { FieldChange, ObjectChange, PlannedOperation } from './object-change.ts';

interface Settled {
  readonly changes: readonly ObjectChange[];
  readonly operations: readonly PlannedOperation[];
}

/**
 * Decides about secrets that could not be compared, by what the server says each operation would change. Undefined: the
 * key may not know; the operation stays, and the server stores nothing if the secret is the same.
 */
export function settlePlan({ changes, operations }: Settled, hasChanged: readonly (boolean | undefined)[]): Settled {
  const same = new Set<ObjectChange>();
  const different = new Set<ObjectChange>();
  const kept = operations.filter(({ undecided }, index) => {
    if (undecided === undefined || hasChanged[index] === undefined) return true;
    (hasChanged[index] === true ? different : same).add(undecided.object);
    return hasChanged[index] === true;
  });
  return { changes: changes.flatMap((change) => settled(change, same, different)), operations: kept };
}

function settled(
  change: ObjectChange,
  same: ReadonlySet<ObjectChange>,
  different: ReadonlySet<ObjectChange>,
): readonly ObjectChange[] {
  const fields = change.fields.flatMap((field): readonly FieldChange[] => {
    if (field.secret !== 'unknown') return [field];
    if (same.has(change)) return [];
    return [different.has(change) ? { ...field, secret: 'changed' } : field];
  });
  const children = change.children.flatMap((child) => settled(child, same, different));
  const isNothing = change.action === 'change' && fields.length === 0 && children.length === 0;
  return isNothing ? [] : [{ ...change, fields, children }];
}

/** Whether something changes, as far as can be known. */
export function isChanging(changes: readonly ObjectChange[]): boolean {
  return changes.some(
    ({ action, fields, children }) =>
      action !== 'change' || fields.some(({ secret }) => secret !== 'unknown') || isChanging(children),
  );
}
