import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Clock } from '../../kit/clock.ts';
import { publicAddressGuard } from '../../kit/net/cidr.ts';
import { isLoopbackHost } from '../../kit/net/listen-address.ts';
import { ipRestriction } from '../../modules/ip_restriction/ip-restriction.ts';
import { settingsOf } from '../../modules/module-settings.ts';
import { AddressLists, addListMetrics } from '../../proxy/lists/address-lists.ts';
import type { ListOrigin, ListState } from '../../proxy/lists/followed-list.ts';
import { COUNTRIES, KnownLists, listSource } from '../../proxy/lists/known-lists.ts';
import { countriesOrigin, FETCH_TIMEOUT_MS, listOrigin, MAX_LIST_BYTES } from '../../proxy/lists/list-origins.ts';
import { withSecrets } from '../../proxy/snapshot/module-tables.ts';
import type { OwnAddresses } from '../../proxy/upstream/upstream-guard.ts';
import type { Replica } from '../../store/replica/replica.ts';
import { type Change, revisionOf, type StoredRecord } from '../../store/store.ts';
import type { Config } from '../settings/schema.ts';
import { LIST_KIND } from './data-plane/data-plane.ts';
import { moduleNetwork } from './data-plane/module-runtimes.ts';

interface ListDependencies {
  readonly config: Config;
  readonly replica: Pick<Replica, 'all' | 'get' | 'onChange'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly own: Pick<OwnAddresses, 'hasBesidesEdge'>;
}

export interface OpenedLists {
  /** For the threads of this node. */
  readonly known: KnownLists;
  state(id: string): ListState;
  refresh(id: string, acceptsSmaller: boolean): Promise<void>;
  /** Resolves when the files of a revision's lists were read, which is soon; null: there are none. */
  read(revision: number): Promise<void> | null;
  close(): Promise<void>;
}

/** Loads the lists of addresses, for all threads of this node. */
export async function openAddressLists(deps: ListDependencies): Promise<OpenedLists> {
  const { config, replica, clock, logger, registry, own } = deps;
  const settings = settingsOf(config.moduleSettings, ipRestriction) as ListSettings;
  // As for event destinations: a key that may write lists chooses the URL and the headers, and reads what came of it.
  const isPublic = publicAddressGuard(settings.lists_allow_cidrs);
  const isAddressAllowed = (ip: string, port: number): boolean => isPublic(ip) && !own.hasBesidesEdge(ip, port);
  const known = new KnownLists();
  const lists: AddressLists = new AddressLists({
    ...{ clock, known, log: logger, folder: join(config.data_dir, 'lists') },
    countFailure: addListMetrics(registry, () => lists.all()),
  });
  const origins = {
    listsDir: pathIn(settings.lists_dir),
    countryDatabase: pathIn(settings.country_database),
    fetch: moduleNetwork(isAddressAllowed).createFetch({
      isAddressAllowed,
      isPlainHttpAllowed: isLoopbackHost,
      maxBytes: MAX_LIST_BYTES,
      timeoutMs: FETCH_TIMEOUT_MS,
    }),
  };
  const originOf = (record: StoredRecord): ListOrigin =>
    listOrigin(record.id, withSecrets(record), origins) ?? countriesOrigin(origins);
  const needsCountries = (): boolean => [...replica.all(LIST_KIND)].some(({ doc }) => listSource(doc) === COUNTRIES);
  const sourceOf = (id: string): string => {
    const record = replica.get(LIST_KIND, id);
    return record !== undefined && listSource(record.doc) === COUNTRIES ? COUNTRIES : id;
  };
  const reads = new Map<number, Promise<void>>();
  const follow = (change: Change): Promise<void> | null => {
    const id = change.op === 'put' ? change.record.id : change.key.id;
    const origin = change.op === 'put' ? originOf(change.record) : null;
    if (origin?.id !== id) lists.forget(id);
    if (!needsCountries()) lists.forget(COUNTRIES);
    if (origin === null) return null;
    return origin.id === COUNTRIES && lists.isFollowed(COUNTRIES) ? null : lists.follow(origin);
  };
  const unsubscribe = replica.onChange(
    (changes) => {
      for (const change of changes.filter(isOfList)) {
        const read = follow(change);
        const revision = revisionOf(change);
        if (read === null) continue;
        const all = Promise.all([reads.get(revision), read]).then(() => {
          if (reads.get(revision) === all) reads.delete(revision);
        });
        reads.set(revision, all);
      }
    },
    [LIST_KIND],
  );
  await lists.open([...new Map([...replica.all(LIST_KIND)].map(originOf).map((each) => [each.id, each])).values()]);
  return {
    known,
    state: (id) => lists.state(sourceOf(id)),
    refresh: (id, acceptsSmaller) => lists.refresh(sourceOf(id), acceptsSmaller),
    read: (revision) => reads.get(revision) ?? null,
    close: async () => {
      unsubscribe();
      await lists.close();
    },
  };
}

interface ListSettings {
  readonly lists_dir: string;
  readonly lists_allow_cidrs: readonly string[];
  readonly country_database: string;
}

function isOfList(change: Change): boolean {
  return (change.op === 'put' ? change.record.kind : change.key.kind) === LIST_KIND;
}

function pathIn(setting: string): string | null {
  return setting === 'off' ? null : setting;
}
