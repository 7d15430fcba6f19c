import ipaddr from 'ipaddr.js';
import type { JsonObject } from '../../kit/json.ts';
import { type AddressTable, type AddressWords, ipv4In, prefixIn, wordsOf } from '../../kit/net/address-table.ts';
import { countryNumber, countryOfNumber } from '../../kit/net/country-code.ts';
import { type Prefix, PrefixTree } from '../../kit/net/prefix-tree.ts';
import type { DecidingRule, Pass, Refusal, Verdict } from '../contract/decides.ts';
import type { AddressLists, ChildRecord, ChildTable, LoadedAddresses } from '../contract/prepare.ts';

/** Entries whose verdicts are kept: those of visitors who come often. */
const MAX_KEPT = 1_000;

/** The records of all lists of a policy, newest first. */
export const policyLists: ChildTable<readonly ChildRecord[]> = {
  kind: 'ip_policy_list',
  parentKind: 'ip_policy',
  empty: [],
  changed: (lists, before, after) => {
    const others = before === null ? lists : lists.filter(({ id }) => id !== before.id);
    if (after === null) return others;
    const place = others.findIndex(({ id }) => id < after.id);
    return place === -1 ? [...others, after] : others.toSpliced(place, 0, after);
  },
};

/** The lists of a policy with their addresses. */
export interface ListMatchers {
  readonly deny: readonly ListMatcher[];
  readonly allow: readonly ListMatcher[];
  readonly rehearsed: readonly ListMatcher[];
  /** Why a list that is enforced cannot be applied; null: all can. */
  readonly problem: string | null;
}

interface MadeMatchers {
  readonly loaded: readonly (AddressTable | string)[];
  readonly matchers: ListMatchers;
}

/** By the value of `policyLists`: all routes share what they keep of their visitors. */
const made = new WeakMap<readonly ChildRecord[], MadeMatchers>();

export function matchersOf(policyId: string, lists: readonly ChildRecord[], addressLists: AddressLists): ListMatchers {
  const found = lists.map(({ id, doc }) => addressLists.of(id, doc));
  const loaded = found.map((each) => ('addresses' in each ? each.addresses : each.problem));
  const known = made.get(lists);
  if (known?.loaded.every((each, at) => each === loaded[at]) === true) return known.matchers;
  const matchers = makeMatchers(policyId, lists, found);
  made.set(lists, { loaded, matchers });
  return matchers;
}

function makeMatchers(
  policyId: string,
  lists: readonly ChildRecord[],
  found: readonly LoadedAddresses[],
): ListMatchers {
  const pairs = lists.map((list, at) => ({ list, loaded: found[at] as LoadedAddresses }));
  const matching = (action: string, isReal: boolean, verdictFor: (rule: DecidingRule) => Verdict) =>
    pairs.flatMap(({ list, loaded }) =>
      list.doc['action'] === action && isEnforced(list) === isReal && 'addresses' in loaded
        ? [new ListMatcher(policyId, list, { addresses: loaded.addresses, verdictFor })]
        : [],
    );
  const missing = pairs.find(({ list, loaded }) => 'problem' in loaded && isEnforced(list));
  return {
    deny: matching('deny', true, refusalBy),
    allow: matching('allow', true, passBy),
    rehearsed: matching('deny', false, rehearsalOf),
    problem:
      missing === undefined || !('problem' in missing.loaded)
        ? null
        : `${nameOf(missing.list)} has no addresses yet: ${missing.loaded.problem}`,
  };
}

/** A list of a policy, with its addresses. */
export class ListMatcher {
  readonly #policyId: string;
  readonly #list: ChildRecord;
  readonly #addresses: AddressTable;
  /** By number; null: every address of the table matches. */
  readonly #countries: ReadonlySet<number> | null;
  readonly #verdictFor: (rule: DecidingRule) => Verdict;
  readonly #verdicts = new Map<number, Verdict>();

  constructor(
    policyId: string,
    list: ChildRecord,
    {
      addresses,
      verdictFor,
    }: { readonly addresses: AddressTable; readonly verdictFor: (rule: DecidingRule) => Verdict },
  ) {
    const countries = countriesOf(list.doc);
    this.#policyId = policyId;
    this.#list = list;
    this.#addresses = addresses;
    this.#countries = countries.length === 0 ? null : new Set(countries.map(countryNumber));
    this.#verdictFor = verdictFor;
  }

  /** The verdict on an address that the list has; null: it has it not. An address without a country is in no list. */
  verdictOn(address: AddressWords): Verdict | null {
    const position = this.#addresses.find(address);
    if (position === -1) return null;
    if (this.#countries !== null && !this.#countries.has(this.#addresses.valueAt(position))) return null;
    const known = this.#verdicts.get(position);
    if (known !== undefined) return known;
    if (this.#verdicts.size >= MAX_KEPT) this.#verdicts.clear();
    const verdict = this.#verdictFor(this.#ruleAt(position));
    this.#verdicts.set(position, verdict);
    return verdict;
  }

  #ruleAt(position: number): DecidingRule {
    const { id, doc } = this.#list;
    const range = this.#addresses.textAt(position);
    const entry = this.#countries === null ? range : `${countryOfNumber(this.#addresses.valueAt(position))} (${range})`;
    const text = `${doc['action'] as string} ${entry} of ${nameOf(this.#list)}`;
    return { kind: 'ip_policy_list', id, parent: this.#policyId, text };
  }
}

/** A value that this version does not know does not loosen it. */
function isEnforced({ doc }: ChildRecord): boolean {
  return doc['enforce'] !== false;
}

function rehearsalOf({ text }: DecidingRule): Pass {
  return { isPass: true, reason: 'rehearsed', wouldRefuse: { reason: 'address', rule: text } };
}

/** For messages. */
function nameOf({ id, doc }: ChildRecord): string {
  const description = doc['description'];
  return typeof description === 'string' && description !== '' ? `the list ${id} (${description})` : `the list ${id}`;
}

function countriesOf({ countries }: JsonObject): readonly string[] {
  return Array.isArray(countries) ? (countries as readonly string[]) : [];
}

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
  /**
   * How many rules cannot be applied: a missing rule may have been a deny, so the policy must not decide without them.
   */
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

  get cidr(): string {
    return this.#doc['cidr'] as string;
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

function passBy(rule: DecidingRule): Pass {
  return { isPass: true, reason: 'address', rule };
}

function refusalBy(rule: DecidingRule): Refusal {
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
