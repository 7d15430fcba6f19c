import { type AddressMatcher, cidrMatcher, parseAddress } from '../../lib/cidr.ts';
import type { Preparation, PreparePorts, Refusal } from '../prepared-module.ts';

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
  const rules = policyIds.flatMap((id) => ports.children('ip_policy_rule', id));
  const strange = rules.find((rule) => rule['action'] !== 'allow' && rule['action'] !== 'deny');
  if (strange !== undefined) return unprepared('a rule of its policies has an unknown action');
  const matchers = (action: string): readonly AddressMatcher[] =>
    rules.filter((rule) => rule['action'] === action).map((rule) => cidrMatcher(rule['cidr'] as string));
  const allow = matchers('allow');
  const deny = matchers('deny');
  return {
    ok: true,
    prepared: {
      judge: (request) => {
        const address = parseAddress(request.clientAddress);
        const isAllowed =
          address !== null && allow.some((matches) => matches(address)) && !deny.some((matches) => matches(address));
        return isAllowed ? 'pass' : REFUSED;
      },
    },
  };
}

function unprepared(what: string): Preparation {
  const message = `${what}, so the ip_restriction module cannot decide: replace the module`;
  return { ok: false, problem: { code: 'ERR_POSTERN_MODULE_UNAVAILABLE', message } };
}
