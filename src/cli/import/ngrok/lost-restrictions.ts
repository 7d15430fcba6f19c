import { isJsonObject, type JsonObject, type JsonValue } from '../../../lib/json.ts';
import { isUnset } from '../import-report.ts';
import { OTHER_RESTRICTIONS } from './not-carried.ts';

type Documents = ReadonlyMap<string, readonly JsonObject[]>;

/** The name of an account-wide restriction that protected every route. */
export function accountRestriction(documents: Documents): string | null {
  const isLost = ({ enforced, type }: JsonObject): boolean =>
    enforced !== false && !OTHER_RESTRICTIONS.includes(type ?? null);
  return documents.get('ip_restrictions')?.some(isLost) === true ? 'an enforced IP restriction of the account' : null;
}

/** What a module restricts access by, and the input does not have. `list` is both its field and the list of documents. */
export function missingReference(module: JsonValue | undefined, list: string, documents: Documents): string | null {
  if (!isJsonObject(module) || module['enabled'] === false || isUnset(module[list])) return null;
  const ids = new Set(documents.get(list)?.map(({ id }) => id));
  const references = Array.isArray(module[list]) ? (module[list] as readonly JsonValue[]) : [null];
  const isKnown = (each: JsonValue): boolean => isJsonObject(each) && ids.has(each['id'] ?? '');
  return references.every(isKnown) ? null : `an unknown item of ${list}`;
}
