import type { JsonObject } from '../../lib/json.ts';
import type { AddressTable } from '../../lib/net/address-list/address-table.ts';
import type { AddressWords } from '../../lib/net/address-list/address-words.ts';
import { countryNumber, countryOfNumber } from '../../lib/net/address-list/country-code.ts';
import type { AddressLists, LoadedAddresses } from '../contract/address-lists.ts';
import type { ChildTable } from '../contract/child-table.ts';
import type { DecidingRule, Pass, Verdict } from '../contract/decides.ts';
import type { ChildRecord } from '../contract/prepare.ts';
import { passBy, refusalBy } from './policy-rules.ts';

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
