import type ipaddr from 'ipaddr.js';
import type { JsonObject } from '../../lib/json.ts';
import type { AddressTable } from '../../lib/net/address-list/address-table.ts';
import { countryNumber, countryOfNumber } from '../../lib/net/address-list/country-code.ts';
import type { DecidingRule } from '../contract/decides.ts';
import type { ChildRecord } from '../contract/prepare.ts';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Entries whose verdicts are kept: those of visitors who come often. */
const MAX_KEPT = 1_000;

/** A list of a policy, with its addresses. */
export class ListMatcher<Verdict> {
  readonly #list: ChildRecord & { readonly parent: string };
  readonly #addresses: AddressTable;
  /** By number; null: every address of the table matches. */
  readonly #countries: ReadonlySet<number> | null;
  readonly #verdictFor: (rule: DecidingRule) => Verdict;
  readonly #verdicts = new Map<number, Verdict>();

  constructor(
    list: ChildRecord & { readonly parent: string },
    addresses: AddressTable,
    verdictFor: (rule: DecidingRule) => Verdict,
  ) {
    const countries = countriesOf(list.doc);
    this.#list = list;
    this.#addresses = addresses;
    this.#countries = countries.length === 0 ? null : new Set(countries.map(countryNumber));
    this.#verdictFor = verdictFor;
  }

  /** The verdict on an address that the list has; undefined: it has it not. An address without a country is in no list. */
  verdictOn(address: Address): Verdict | undefined {
    const position = this.#addresses.find(address);
    if (position === -1) return undefined;
    if (this.#countries !== null && !this.#countries.has(this.#addresses.valueAt(position))) return undefined;
    const known = this.#verdicts.get(position);
    if (known !== undefined) return known;
    if (this.#verdicts.size >= MAX_KEPT) this.#verdicts.clear();
    const verdict = this.#verdictFor(this.#ruleAt(position));
    this.#verdicts.set(position, verdict);
    return verdict;
  }

  #ruleAt(position: number): DecidingRule {
    const { id, parent, doc } = this.#list;
    const range = this.#addresses.textAt(position);
    const entry = this.#countries === null ? range : `${countryOfNumber(this.#addresses.valueAt(position))} (${range})`;
    return { kind: 'ip_policy_list', id, parent, text: `${doc['action'] as string} ${entry} of ${nameOf(this.#list)}` };
  }
}

/** For messages. */
export function nameOf({ id, doc }: ChildRecord): string {
  const description = doc['description'];
  return typeof description === 'string' && description !== '' ? `the list ${id} (${description})` : `the list ${id}`;
}

function countriesOf({ countries }: JsonObject): readonly string[] {
  return Array.isArray(countries) ? (countries as readonly string[]) : [];
}
