import { type AddressMatcher, cidrMatcher, parseAddress } from '../../lib/cidr.ts';
import type { PreparedModule, PreparePorts, Refusal } from '../prepared-module.ts';

const REFUSED: Refusal = {
  status: 403,
  code: 'ERR_POSTERN_ADDRESS_NOT_ALLOWED',
  message: 'Your network address is not allowed here. If it should be, ask whoever runs this site.',
  reason: 'address',
};

/** Allowed if an allow rule matches and no deny rule does; an address that cannot be read is refused. */
export function restrictAddresses(policyIds: readonly string[], ports: PreparePorts): PreparedModule {
  const rules = policyIds.flatMap((id) => ports.children('ip_policy_rule', id));
  const matchers = (action: string): readonly AddressMatcher[] =>
    rules.filter((rule) => rule['action'] === action).map((rule) => cidrMatcher(rule['cidr'] as string));
  const allow = matchers('allow');
  const deny = matchers('deny');
  return {
    judge: (request) => {
      const address = parseAddress(request.clientAddress);
      const isAllowed =
        address !== null && allow.some((matches) => matches(address)) && !deny.some((matches) => matches(address));
      return isAllowed ? 'pass' : REFUSED;
    },
  };
}
