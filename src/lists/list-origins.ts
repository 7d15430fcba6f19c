import type { GuardedFetch } from '../lib/http/guarded-fetch.ts';
import type { JsonObject } from '../lib/json.ts';
import { AddressListProblem } from '../lib/net/address-list/list-problem.ts';
import { fetchList } from './fetch-list.ts';
import type { KnownReading, ListOrigin, Reading } from './followed-list.ts';
import { COUNTRIES, listSource } from './list-source.ts';
import { type FileLimits, type ListFile, readListFile, readNamedFile } from './read-list-file.ts';

/** Text of two million IPv4 ranges has 36 MB. */
export const MAX_LIST_BYTES = 64 * 1024 * 1024;
/** For a whole request. */
export const FETCH_TIMEOUT_MS = 60_000;
/** A database of cities has 70 MB. */
const MAX_DATABASE_BYTES = 512 * 1024 * 1024;
/** A look at a file that did not change is one call of the system. */
const FILE_EVERY_MS = 5_000;
const MINUTE_MS = 60_000;

export interface OriginSettings {
  /** Null: files are off. */
  readonly listsDir: string | null;
  readonly countryDatabase: string | null;
  readonly fetch: GuardedFetch;
}

/** Where a list comes from. Null: from the database of countries, which all such lists share. */
export function listOrigin(id: string, config: JsonObject, settings: OriginSettings): ListOrigin | null {
  const source = listSource(config);
  if (source === COUNTRIES) return null;
  const common = { id, source, subject: 'the list', format: 'plain' as const };
  const { url, file } = config as { readonly url: string; readonly file: string };
  if (url === '') {
    const read = async (known: KnownReading): Promise<Reading> => {
      if (settings.listsDir === null)
        throw new AddressListProblem('is a file, but the setting lists_dir (POSTERN_LISTS_DIR) names no directory');
      return fileReading(await readListFile(settings.listsDir, file, limits(MAX_LIST_BYTES, known)), known);
    };
    return { ...common, everyMs: FILE_EVERY_MS, isRemote: false, read };
  }
  const headers = (config['headers'] ?? {}) as Readonly<Record<string, string>>;
  const everyMs = Number(config['refresh_minutes']) * MINUTE_MS;
  const read = async (known: KnownReading, signal: AbortSignal): Promise<Reading> => {
    const fetched = await fetchList(settings.fetch, { url, headers, known: known.validators, signal });
    if (fetched === null) return null;
    const { chunks, validators } = fetched;
    return { chunks, remember: () => Object.assign(known, { validators }) };
  };
  return { ...common, everyMs, isRemote: true, read };
}

/** The database of countries, which is read while at least one list needs it. */
export function countriesOrigin({ countryDatabase }: OriginSettings): ListOrigin {
  return {
    ...{ id: COUNTRIES, source: COUNTRIES, subject: 'the country database', format: 'mmdb' },
    ...{ everyMs: FILE_EVERY_MS, isRemote: false },
    read: async (known) => {
      if (countryDatabase === null) {
        throw new AddressListProblem(
          'is missing: name an MMDB file in the setting country_database (POSTERN_COUNTRY_DATABASE)',
        );
      }
      return fileReading(await readNamedFile(countryDatabase, limits(MAX_DATABASE_BYTES, known)), known);
    },
  };
}

function limits(maxBytes: number, known: KnownReading): FileLimits {
  // The clock of the system also gives files their times.
  return { maxBytes, known: known.stamp, nowMs: Date.now() };
}

function fileReading({ stamp, bytes }: ListFile, known: KnownReading): Reading {
  return bytes === null ? null : { chunks: [bytes], remember: () => Object.assign(known, { stamp }) };
}
