import { accountClaims } from '../../identity/people/people-records.ts';
import { coversScope, coversScopes } from '../covers-scope.ts';
import type { MissingScope } from '../errors.ts';
import type { Principal } from '../operation.ts';
import type { ResourceSettings } from '../resource.ts';

interface Manageable {
  readonly email: string;
  readonly name: string;
  readonly groups: readonly string[];
}

/** Scopes that the person has in the console. */
function scopesIn(
  account: Manageable,
  id: string | null,
  settings: Pick<ResourceSettings, 'consoleScopesOf'>,
): readonly string[] {
  return settings.consoleScopesOf(accountClaims({ ...account, id: id ?? '' }));
}

/** Whether these scopes are all that the person has in the console. */
export function coversPerson(
  scopes: readonly string[],
  account: Manageable,
  id: string,
  settings: Pick<ResourceSettings, 'consoleScopesOf'>,
): boolean {
  return coversScopes(scopes, scopesIn(account, id, settings));
}

/** Whether the change gives the person more in the console. */
export function isPromotion(
  next: Manageable,
  previous: Manageable,
  id: string,
  settings: Pick<ResourceSettings, 'consoleScopesOf'>,
): boolean {
  return !coversPerson(scopesIn(previous, id, settings), next, id, settings);
}

/**
 * A scope that the caller lacks and the person has in the console, before or after the change: a caller who can invite a
 * person can be that person. A disabled account counts as if it were active.
 */
export function beyondCaller(
  { scopes }: Principal,
  versions: readonly (Manageable | null)[],
  id: string | null,
  settings: Pick<ResourceSettings, 'consoleScopesOf'>,
): MissingScope | null {
  const wanted = versions.flatMap((account) => (account === null ? [] : scopesIn(account, id, settings)));
  const scope = wanted.find((each) => !coversScope(scopes, each));
  if (scope === undefined) return null;
  return {
    scope,
    message: `this API key lacks the scope "${scope}", which the person has in the console, before or after this change or if a pending change is reverted: use a key that has it`,
  };
}
