import { KeyedMutex } from '../../kit/async/turns.ts';
import {
  DnsFailure,
  type DnsZone,
  longestZone,
  OTHER_ZONES,
  type ProviderPorts,
  type TxtRecord,
  type ZoneRecords,
} from './dns-provider.ts';
import { openZone, providerOf } from './dns-zones.ts';
import { type DnsLookup, followAliases } from './servers/dns-lookup.ts';
import { missingAt, untilVisible } from './servers/until-visible.ts';

export interface ChallengeRecordsOptions {
  readonly zones: readonly DnsZone[];
  readonly lookup: DnsLookup;
  /** How long name servers may take to show a value. 0: they are not asked. */
  readonly visibleMs: number;
  readonly ports: Omit<ProviderPorts, 'addressesOf'>;
}

/** Publishes the TXT records of dns-01, each at the provider of its zone. Everything rejects with a DnsFailure. */
export class ChallengeRecords {
  readonly #options: ChallengeRecordsOptions;
  readonly #turns = new KeyedMutex();
  readonly #opened = new Map<DnsZone, Promise<ZoneRecords>>();
  readonly #named: readonly DnsZone[];
  /** For all other names. */
  readonly #others: DnsZone | null;

  constructor(options: ChallengeRecordsOptions) {
    this.#options = options;
    this.#named = options.zones.filter(({ zone }) => zone !== OTHER_ZONES);
    this.#others = options.zones.find(({ zone }) => zone === OTHER_ZONES) ?? null;
  }

  /**
   * Where the record really is: CNAME records lead to it, unless a hook is responsible, which gets the name as it is.
   */
  async placeOf(name: string): Promise<string> {
    if (this.#named.length === 0) return name;
    const place = await followAliases(name, this.#options.lookup);
    if (longestZone(place, this.#named) !== null) return place;
    if (this.#others !== null) return name;
    const alias = place === name ? '' : ` (where the CNAME record of ${name} leads)`;
    throw new DnsFailure(
      `acme_dns has no zone for ${place}${alias}: add its zone, or a CNAME record of ${name} that leads to a name in a zone of acme_dns`,
    );
  }

  /** Hooks may keep one value per name only: orders of a domain and its wildcard take turns. Others run at once. */
  inTurn(name: string, task: () => Promise<void>): Promise<void> {
    return this.isHookFor(name) ? this.#turns.run(name, task) : task();
  }

  /** Resolves when the CA may look. `isRepeated`: the value may be there already, from an interrupted order. */
  async add(record: TxtRecord, isRepeated: boolean, signal: AbortSignal): Promise<void> {
    const { lookup, visibleMs, ports } = this.#options;
    const zone = this.#knownZoneOf(record.name);
    const records = await this.#open(zone);
    if (providerOf(zone).isHook) return records.add(record, signal);
    const isThere = isRepeated && visibleMs > 0 && (await missingAt(record, lookup, signal)).length === 0;
    if (isThere) return;
    await records.add(record, signal);
    const { nowMs, wait } = ports;
    if (visibleMs > 0) await untilVisible(record, visibleMs, { lookup, nowMs, wait }, signal);
  }

  async remove(record: TxtRecord, signal: AbortSignal): Promise<void> {
    const records = await this.#open(this.#knownZoneOf(record.name));
    await records.remove(record, signal);
  }

  /** Whether anything can remove a record that was left behind. */
  canReach(name: string): boolean {
    return this.#zoneOf(name) !== null;
  }

  isHookFor(name: string): boolean {
    const zone = this.#zoneOf(name);
    return zone !== null && providerOf(zone).isHook;
  }

  #zoneOf(name: string): DnsZone | null {
    return longestZone(name, this.#named) ?? this.#others;
  }

  #knownZoneOf(name: string): DnsZone {
    const zone = this.#zoneOf(name);
    if (zone === null) throw new DnsFailure(`acme_dns has no zone for ${name}: add it`);
    return zone;
  }

  #open(zone: DnsZone): Promise<ZoneRecords> {
    const { ports, lookup } = this.#options;
    const known = this.#opened.get(zone);
    if (known !== undefined) return known;
    const opening = openZone(zone, { ...ports, addressesOf: lookup.addressesOf });
    this.#opened.set(zone, opening);
    opening.catch(() => this.#opened.delete(zone));
    return opening;
  }
}
