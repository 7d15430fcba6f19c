import { accountClaims } from '../../identity/people/people-records.ts';
import { coversScope } from '../covers-scope.ts';
import type { MissingScope } from '../errors.ts';
import type { Principal } from '../operation.ts';
import type { ResourceSettings } from '../resource.ts';

interface Manageable {
  readonly email: string;
  readonly name: string;
  readonly groups: readonly string[];
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
  const wanted = versions.flatMap((account) =>
    account === null ? [] : settings.consoleScopesOf(accountClaims({ ...account, id: id ?? '' })),
  );
  const scope = wanted.find((each) => !coversScope(scopes, each));
  if (scope === undefined) return null;
  return {
    scope,
    message: `this API key lacks the scope "${scope}", which the person has in the console, before or after this change: use a key that has it`,
  };
}
