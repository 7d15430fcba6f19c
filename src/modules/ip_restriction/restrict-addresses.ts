import { type AddressWords, addressWords } from '../../lib/net/address-list/address-words.ts';
import { isPass, type Verdict } from '../contract/decides.ts';
import type { Preparation, PreparePorts } from '../contract/prepare.ts';
import { type ListMatcher, type ListMatchers, matchersOf, policyLists } from './policy-lists.ts';
import { type PolicyRules, policyRules, REFUSED } from './policy-rules.ts';

/** A policy as all routes share it. */
interface Policy {
  readonly id: string;
  readonly rules: PolicyRules;
  readonly lists: ListMatchers;
}

/**
 * Allowed if an allow rule or list matches and no deny rule or list does; an unreadable address is rejected. A list that is
 * rehearsed decides nothing: of a request that passes, it is said that the list would refuse it.
 */
export function restrictAddresses(policyIds: readonly string[], ports: PreparePorts): Preparation {
  // A missing policy, rule or list may have contained a deny: the rest must not decide alone.
  const lost = policyIds.find((id) => ports.record('ip_policy', id) === undefined);
  if (lost !== undefined) return unprepared(`the IP policy ${lost} does not exist`);
  const read = policyIds.map((id) => ({
    id,
    rules: ports.childTable(policyRules, id),
    lists: ports.childTable(policyLists, id),
  }));
  for (const { id, rules, lists } of read) {
    const strange = lists.find(({ doc }) => doc['action'] !== 'allow' && doc['action'] !== 'deny');
    if (strange !== undefined) return unprepared(`the list ${strange.id} of the IP policy ${id} has an unknown action`);
    if (rules.unreadable > 0) return unprepared(unreadableText(id, rules));
  }
  const policies = read.map(({ id, rules, lists }): Policy => {
    return { id, rules, lists: matchersOf(id, lists, ports.addressLists) };
  });
  for (const { lists } of policies) if (lists.problem !== null) return unloaded(lists.problem);
  const listsOf = (kind: 'allow' | 'deny' | 'rehearsed'): readonly ListMatcher[] =>
    policies.flatMap(({ lists }) => lists[kind]);
  const [denying, allowing] = [policies.filter(has('deny')), policies.filter(has('allow'))];
  const [denyLists, allowLists, rehearsed] = [listsOf('deny'), listsOf('allow'), listsOf('rehearsed')];
  return {
    ok: true,
    prepared: {
      judge: (request) => {
        const address = addressWords(request.clientAddress);
        if (address === null) return REFUSED;
        const verdict =
          firstRule(denying, 'deny', address) ??
          firstList(denyLists, address) ??
          firstRule(allowing, 'allow', address) ??
          firstList(allowLists, address) ??
          REFUSED;
        return rehearsed.length > 0 && isPass(verdict) ? (firstList(rehearsed, address) ?? verdict) : verdict;
      },
    },
  };
}

function has(action: 'allow' | 'deny'): (policy: Policy) => boolean {
  return ({ rules }) => !rules[action].isEmpty;
}

/** The newest matching rule of the first policy that has one. */
function firstRule(policies: readonly Policy[], action: 'allow' | 'deny', address: AddressWords): Verdict | null {
  for (const { id, rules } of policies) {
    const rule = rules[action].find(address);
    if (rule !== null) return rule.verdictIn(id);
  }
  return null;
}

function firstList(lists: readonly ListMatcher[], address: AddressWords): Verdict | null {
  for (const list of lists) {
    const verdict = list.verdictOn(address);
    if (verdict !== null) return verdict;
  }
  return null;
}

function unreadableText(policyId: string, { unreadable, example }: PolicyRules): string {
  const which = unreadable === 1 ? 'a rule' : `${unreadable} rules`;
  const found = example === null ? '' : `: ${example.id} ${example.problem}`;
  return `${which} of the IP policy ${policyId} cannot be applied${found}`;
}

function unprepared(what: string): Preparation {
  const message = `${what}, so the ip_restriction module cannot decide: delete or replace it, or the module`;
  return { ok: false, problem: { code: 'ERR_POSTERN_MODULE_UNAVAILABLE', message } };
}

function unloaded(what: string): Preparation {
  const message = `${what}. GET /ip_policy_lists shows its state; with "enforce": false it refuses nobody`;
  return { ok: false, problem: { code: 'ERR_POSTERN_MODULE_UNAVAILABLE', message } };
}
