import { ALL_SCOPES, coversScope } from '../covers-scope.ts';
import type { MissingScope } from '../errors.ts';
import type { EventType, Principal } from '../operation.ts';

/**
 * An event contains its whole object, so a key needs permission to read such objects. A type that this version does not
 * know requires permission to read everything.
 */
function scopeOfType(type: string, known: readonly EventType[]): string {
  return known.find((each) => each.type === type)?.scope ?? ALL_SCOPES;
}

export function canReadType(type: string, principal: Principal, known: readonly EventType[]): boolean {
  return coversScope(principal.scopes, scopeOfType(type, known));
}

/** Why a key may not have events of these types sent anywhere, or null. */
export function unreadableType(
  types: Iterable<string>,
  principal: Principal,
  known: readonly EventType[],
): MissingScope | null {
  for (const type of types) {
    if (canReadType(type, principal, known)) continue;
    const scope = scopeOfType(type, known);
    const message = `this API key lacks the scope "${scope}", which the event type "${type}" requires: use a key that has it`;
    return { message, scope };
  }
  return null;
}
