import { type AddressMatcher, cidrMatcher, parseAddress } from '../../lib/net/cidr.ts';
import { type DecidingRule, isPass, type Pass, type Refusal, type Verdict } from '../contract/decides.ts';
import type { ChildRecord, Preparation, PreparePorts } from '../contract/prepare.ts';
import { ListMatcher, nameOf } from './list-matcher.ts';

const REFUSED: Refusal = {
  status: 403,
  code: 'ERR_POSTERN_ADDRESS_NOT_ALLOWED',
  message: 'Your network address is not allowed here. If you need access, contact the operator of this site.',
  reason: 'address',
};

/**
 * Allowed if an allow rule or list matches and no deny rule or list does; an unreadable address is rejected. A list that is
 * rehearsed decides nothing: of a request that passes, it is said that the list would refuse it.
 */
export function restrictAddresses(policyIds: readonly string[], ports: PreparePorts): Preparation {
  // A missing policy, rule or list may have contained a deny: the rest must not decide alone.
  const lost = policyIds.find((id) => ports.record('ip_policy', id) === undefined);
  if (lost !== undefined) return unprepared(`the IP policy ${lost} does not exist`);
  const childrenOf = (kind: string): readonly PolicyChild[] =>
    policyIds.flatMap((parent) => ports.children(kind, parent).map(({ id, doc }) => ({ id, doc, parent })));
  const rules = childrenOf('ip_policy_rule');
  const lists = childrenOf('ip_policy_list');
  const strange = [...rules, ...lists].find(({ doc }) => doc['action'] !== 'allow' && doc['action'] !== 'deny');
  if (strange !== undefined) return unprepared('a rule or list of its policies has an unknown action');
  const found = lists.map((list) => ({ list, loaded: ports.addressLists.of(list.id, list.doc) }));
  for (const { list, loaded } of found) {
    if ('problem' in loaded && isEnforced(list))
      return unloaded(`${nameOf(list)} has no addresses yet: ${loaded.problem}`);
  }
  const matchers = (action: string): readonly RuleMatcher[] =>
    rules
      .filter(({ doc }) => doc['action'] === action)
      .map(({ id, doc, parent }) => {
        const cidr = doc['cidr'] as string;
        const rule = { kind: 'ip_policy_rule', id, parent, text: `${action} ${cidr}` };
        return { matches: cidrMatcher(cidr), verdict: action === 'allow' ? passBy(rule) : refusalBy(rule) };
      });
  const listMatchers = <Of extends Verdict>(
    action: string,
    isReal: boolean,
    verdictFor: (rule: DecidingRule) => Of,
  ): readonly ListMatcher<Of>[] =>
    found.flatMap(({ list, loaded }) =>
      list.doc['action'] === action && isEnforced(list) === isReal && 'addresses' in loaded
        ? [new ListMatcher(list, loaded.addresses, verdictFor)]
        : [],
    );
  const [deny, allow] = [matchers('deny'), matchers('allow')];
  const [denyLists, allowLists] = [listMatchers('deny', true, refusalBy), listMatchers('allow', true, passBy)];
  const rehearsed = listMatchers('deny', false, rehearsalOf);
  return {
    ok: true,
    prepared: {
      judge: (request) => {
        const address = parseAddress(request.clientAddress);
        if (address === null) return REFUSED;
        const verdict =
          deny.find(({ matches }) => matches(address))?.verdict ??
          firstOf(denyLists, address) ??
          allow.find(({ matches }) => matches(address))?.verdict ??
          firstOf(allowLists, address) ??
          REFUSED;
        return rehearsed.length > 0 && isPass(verdict) ? (firstOf(rehearsed, address) ?? verdict) : verdict;
      },
    },
  };
}

type PolicyChild = ChildRecord & { readonly parent: string };

function firstOf<Of>(lists: readonly ListMatcher<Of>[], address: NonNullable<ReturnType<typeof parseAddress>>) {
  for (const list of lists) {
    const verdict = list.verdictOn(address);
    if (verdict !== undefined) return verdict;
  }
  return undefined;
}

/** A value that this version does not know does not loosen it. */
function isEnforced({ doc }: ChildRecord): boolean {
  return doc['enforce'] !== false;
}

function passBy(rule: DecidingRule): Pass {
  return { isPass: true, reason: 'address', rule };
}

function refusalBy(rule: DecidingRule): Refusal {
  return { ...REFUSED, rule };
}

function rehearsalOf({ text }: DecidingRule): Pass {
  return { isPass: true, reason: 'rehearsed', wouldRefuse: { reason: 'address', rule: text } };
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

function unloaded(what: string): Preparation {
  const message = `${what}. GET /ip_policy_lists shows its state; with "enforce": false it refuses nobody`;
  return { ok: false, problem: { code: 'ERR_POSTERN_MODULE_UNAVAILABLE', message } };
}
