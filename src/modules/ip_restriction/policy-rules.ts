import ipaddr from 'ipaddr.js';
import { ipv4In, prefixIn, wordsOf } from '../../lib/net/address-list/address-words.ts';
import { type Prefix, PrefixTree } from '../../lib/net/address-list/prefix-tree.ts';
import type { ChildTable } from '../contract/child-table.ts';
import type { DecidingRule, Pass, Refusal, Verdict } from '../contract/decides.ts';
import type { ChildRecord } from '../contract/prepare.ts';

export const REFUSED: Refusal = {
  status: 403,
  code: 'ERR_POSTERN_ADDRESS_NOT_ALLOWED',
  message: 'Your network address is not allowed here. If you need access, contact the operator of this site.',
  reason: 'address',
};

/** All rules of a policy, as tables that are searched. Never changed: a change makes another one. */
export interface PolicyRules {
  readonly allow: PrefixTree<PolicyRule>;
  readonly deny: PrefixTree<PolicyRule>;
  /** How many rules cannot be applied: a missing rule may have been a deny, so the policy must not decide without them. */
  readonly unreadable: number;
  /** One of them, for the message. */
  readonly example: { readonly id: string; readonly problem: string } | null;
}

/** One table for each policy and thread, which all routes share. */
export const policyRules: ChildTable<PolicyRules> = {
  kind: 'ip_policy_rule',
  parentKind: 'ip_policy',
  empty: { allow: new PrefixTree(), deny: new PrefixTree(), unreadable: 0, example: null },
  changed: (rules, before, after) => {
    const left = before === null ? rules : withoutRule(rules, before);
    return after === null ? left : withRule(left, after);
  },
};

/** A rule in a table. Its verdict is made when it decides for the first time. */
class PolicyRule {
  readonly id: string;
  readonly #doc: ChildRecord['doc'];
  #verdict: Verdict | null = null;

  constructor({ id, doc }: ChildRecord) {
    this.id = id;
    this.#doc = doc;
  }

  verdictIn(policyId: string): Verdict {
    this.#verdict ??= this.#makeVerdict(policyId);
    return this.#verdict;
  }

  #makeVerdict(parent: string): Verdict {
    const { action, cidr } = this.#doc;
    const rule = { kind: 'ip_policy_rule', id: this.id, parent, text: `${action as string} ${cidr as string}` };
    return action === 'allow' ? passBy(rule) : refusalBy(rule);
  }
}

export function passBy(rule: DecidingRule): Pass {
  return { isPass: true, reason: 'address', rule };
}

export function refusalBy(rule: DecidingRule): Refusal {
  return { ...REFUSED, rule };
}

function withRule(rules: PolicyRules, record: ChildRecord): PolicyRules {
  const read = readRule(record);
  if ('problem' in read) {
    return { ...rules, unreadable: rules.unreadable + 1, example: { id: record.id, problem: read.problem } };
  }
  return { ...rules, [read.action]: rules[read.action].with(read.prefix, new PolicyRule(record)) };
}

function withoutRule(rules: PolicyRules, record: ChildRecord): PolicyRules {
  const read = readRule(record);
  if ('problem' in read) {
    return {
      ...rules,
      unreadable: rules.unreadable - 1,
      example: rules.example?.id === record.id ? null : rules.example,
    };
  }
  return { ...rules, [read.action]: rules[read.action].without(read.prefix, record.id) };
}

type ReadRule = { readonly action: 'allow' | 'deny'; readonly prefix: Prefix } | { readonly problem: string };

/** The API accepts no other rules; a later version, or another program, may have written one. */
function readRule({ doc: { action, cidr } }: ChildRecord): ReadRule {
  if (action !== 'allow' && action !== 'deny') return { problem: 'has an unknown action' };
  try {
    return { action, prefix: prefixOf(cidr as string) };
  } catch {
    return { problem: 'has a range that cannot be read' };
  }
}

function prefixOf(cidr: string): Prefix {
  const slash = cidr.indexOf('/');
  const [ipv4, prefix] = [ipv4In(cidr.slice(0, slash)), prefixIn(cidr.slice(slash + 1))];
  // A tenth of the time of the library: a policy may have 100,000 rules.
  if (ipv4 !== -1 && prefix !== -1 && prefix <= 32) return { address: ipv4, bits: prefix };
  const [network, bits] = ipaddr.parseCIDR(cidr);
  // IPv4 inside IPv6. A shorter prefix contains more than IPv4 addresses, and matches IPv6 alone.
  const isMapped = network instanceof ipaddr.IPv6 && network.isIPv4MappedAddress() && bits >= 96;
  return isMapped
    ? { address: wordsOf(network.toIPv4Address()), bits: bits - 96 }
    : { address: wordsOf(network), bits };
}
