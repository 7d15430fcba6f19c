import { get } from '../../api/request.ts';
import { areAllowed } from '../../api/scopes.ts';
import type { Document } from '../../api/use-pages.ts';
import { textAt } from '../../format/text.ts';

interface Page {
  readonly ip_policy_rules?: readonly Document[];
  readonly ip_policy_lists?: readonly Document[];
  readonly next_page_uri: string | null;
}

/**
 * Ranges of those IP policies that only allow, by their ids: a form can show them as addresses. None if this session
 * may not see all of them.
 */
export async function plainPolicies(ids: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
  if (ids.length === 0 || !areAllowed(['ip_policy_rules:read', 'ip_policy_lists:read'])) return new Map();
  const filter = encodeURIComponent(`obj.ip_policy.id in ${JSON.stringify(ids)}`);
  const [rules, lists] = await Promise.all([
    get<Page>(`/ip_policy_rules?limit=100&filter=${filter}`),
    get<Page>(`/ip_policy_lists?limit=100&filter=${filter}`),
  ]);
  if (rules.next_page_uri !== null || lists.next_page_uri !== null) return new Map();
  const policyOf = (row: Document): string => textAt(row['ip_policy'] as Document, 'id');
  const others = new Set([
    ...(lists.ip_policy_lists ?? []).map(policyOf),
    ...(rules.ip_policy_rules ?? []).filter(({ action }) => action !== 'allow').map(policyOf),
  ]);
  return new Map(
    ids
      .filter((id) => !others.has(id))
      .map((id) => [
        id,
        (rules.ip_policy_rules ?? []).filter((rule) => policyOf(rule) === id).map((rule) => textAt(rule, 'cidr')),
      ]),
  );
}
