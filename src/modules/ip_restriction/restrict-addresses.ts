import { type AddressMatcher, cidrMatcher, parseAddress } from '../../lib/net/cidr.ts';
import type { Refusal, Verdict } from '../contract/decides.ts';
import type { Preparation, PreparePorts } from '../contract/prepare.ts';

const REFUSED: Refusal = {
  status: 403,
  code: 'ERR_POSTERN_ADDRESS_NOT_ALLOWED',
  message: 'Your network address is not allowed here. If you need access, contact the operator of this site.',
  reason: 'address',
};

/** Allowed if an allow rule matches and no deny rule does; an unreadable address is rejected. */
export function restrictAddresses(policyIds: readonly string[], ports: PreparePorts): Preparation {
  // A missing policy or rule may have contained a deny: the rest must not decide alone.
  const lost = policyIds.find((id) => ports.record('ip_policy', id) === undefined);
  if (lost !== undefined) return unprepared(`the IP policy ${lost} does not exist`);
  const rules = policyIds.flatMap((parent) =>
    ports.children('ip_policy_rule', parent).map(({ id, doc }) => ({ id, doc, parent })),
  );
  const strange = rules.find(({ doc }) => doc['action'] !== 'allow' && doc['action'] !== 'deny');
  if (strange !== undefined) return unprepared('a rule of its policies has an unknown action');
  const matchers = (action: string): readonly RuleMatcher[] =>
    rules
      .filter(({ doc }) => doc['action'] === action)
      .map(({ id, doc, parent }) => {
        const cidr = doc['cidr'] as string;
        const rule = { kind: 'ip_policy_rule', id, parent, text: `${action} ${cidr}` };
        const verdict: Verdict = action === 'allow' ? { isPass: true, reason: 'address', rule } : { ...REFUSED, rule };
        return { matches: cidrMatcher(cidr), verdict };
      });
  const allow = matchers('allow');
  const deny = matchers('deny');
  return {
    ok: true,
    prepared: {
      judge: (request) => {
        const address = parseAddress(request.clientAddress);
        if (address === null) return REFUSED;
        const decides = deny.find(({ matches }) => matches(address)) ?? allow.find(({ matches }) => matches(address));
        return decides?.verdict ?? REFUSED;
      },
    },
  };
}

/** A rule, and the verdict on every address that it decides about. */
interface RuleMatcher {
  readonly matches: AddressMatcher;
  readonly verdict: Verdict;
}

function unprepared(what: string): Preparation {
  const message = `${what}, so the ip_restriction module cannot decide: replace the module`;
  return { ok: false, problem: { code: 'ERR_POSTERN_MODULE_UNAVAILABLE', message } };
}
