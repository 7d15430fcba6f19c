import { isJsonObject, type JsonObject, type JsonValue } from '../../../../kit/json.ts';
import { isUnset } from '../import-report.ts';

/** What the retired API answered, or a dump has. A list that it lacks was not read. */
export interface RetiredDocuments {
  readonly documents: ReadonlyMap<string, readonly JsonObject[]>;
  /** Lists of which a part is missing. */
  readonly partial: ReadonlySet<string>;
}

/** The name of an account-wide restriction that protected every route, or may have. */
export function accountRestriction({ documents, partial }: RetiredDocuments): string | null {
  if (!documents.has('ip_restrictions') || partial.has('ip_restrictions'))
    return 'perhaps an IP restriction of the account (the list ip_restrictions is not known, or only a part of it)';
  const isLost = ({ enforced, type }: JsonObject): boolean =>
    enforced !== false && !OTHER_RESTRICTIONS.includes(type ?? null);
  return documents.get('ip_restrictions')?.some(isLost) === true ? 'an enforced IP restriction of the account' : null;
}

/** An edge that was not read may have protected a host that the wildcard of another one matches. */
export function mayServeAnother({ hostports }: JsonObject, { partial }: RetiredDocuments): string | null {
  const hasWildcard = !Array.isArray(hostports) || hostports.some((each) => String(each as string).includes('*'));
  return partial.has('https_edges') && hasWildcard ? 'perhaps an edge that is not known, below the wildcard,' : null;
}

/**
 * What a module restricts access by, and the input does not have, or not all of it. `list` is both its field and the
 * list of documents; `broken` has the ids of documents of which anything was not understood.
 */
export function missingReference(
  module: JsonValue | undefined,
  list: string,
  { documents, partial }: RetiredDocuments,
  broken: ReadonlySet<JsonValue>,
): string | null {
  if (!isJsonObject(module) || module['enabled'] === false || isUnset(module[list])) return null;
  if (list === 'ip_policies' && (!documents.has('ip_policy_rules') || partial.has('ip_policy_rules')))
    return 'an IP policy without all of its rules (the list ip_policy_rules is not known, or only a part of it)';
  const all = documents.get(list) ?? [];
  const ids = new Set(all.map(({ id }) => id).filter((id) => !broken.has(id ?? '')));
  const references = Array.isArray(module[list]) ? (module[list] as readonly JsonValue[]) : [null];
  const isKnown = (each: JsonValue): boolean => isJsonObject(each) && ids.has(each['id'] ?? '');
  return references.every(isKnown) ? null : `an unknown item of ${list}`;
}

/** Why a field of the retired API has no place in Postern, by its name. */
export const NOT_CARRIED: Readonly<Record<string, string>> = {
  webhook_verification: 'Postern has no such module: verify webhooks in your service',
  saml: 'Postern has no such module: use a login of oidc or oauth',
  websocket_tcp_converter: 'Postern has no such module',
  traffic_policy: 'Postern has no policies: use its modules',
  policy: 'Postern has no policies: use its modules',
};

export const NO_SUCH_FIELD = 'Postern has no such field';

/** Modules that do not decide who gets in. A route or edge that loses any other part must not be open to everybody. */
export const HARMLESS: ReadonlySet<string> = new Set([
  'request_headers',
  'response_headers',
  'websocket_tcp_converter',
]);

/** What an account-wide IP restriction of these types protects is not served by Postern. */
const OTHER_RESTRICTIONS: readonly JsonValue[] = ['api', 'dashboard', 'agent'];
