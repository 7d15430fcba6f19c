import type { EdgeOperation } from './edge-operation.ts';

/** The module that restricts a site to addresses. */
export const ADDRESS_MODULE = 'ip_restriction';

/** A policy with a rule for each range; `at` is the number of the first operation. */
export function createPolicy(ranges: readonly string[], place: string, at: number): readonly EdgeOperation[] {
  const description = place.slice(0, 255);
  return [
    { method: 'POST', path: '/ip_policies', body: { description } },
    ...ranges.map(
      (cidr): EdgeOperation => ({
        method: 'POST',
        path: '/ip_policy_rules',
        body: { ip_policy_id: { $ref: at, field: 'id' }, cidr },
      }),
    ),
  ];
}
