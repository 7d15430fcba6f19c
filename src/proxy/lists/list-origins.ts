import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readlink, realpath } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { failureCode } from '../../kit/error-text.ts';
import type { GuardedFetch } from '../../kit/http/guarded-fetch.ts';
import type { JsonObject } from '../../kit/json.ts';
import { AddressListProblem } from '../../kit/net/address-table.ts';
import { fetchList, type KnownReading, type ListOrigin, type Reading } from './followed-list.ts';
import { COUNTRIES, listSource } from './known-lists.ts';

/** Text of two million IPv4 ranges has 36 MB. */
export const MAX_LIST_BYTES = 64 * 1024 * 1024;
/** For a whole request. */
export const FETCH_TIMEOUT_MS = 60_000;
/** A database of cities has 70 MB. */
const MAX_DATABASE_BYTES = 512 * 1024 * 1024;
/** A look at a file that did not change is one call of the system. */
const FILE_EVERY_MS = 5_000;
const MINUTE_MS = 60_000;

interface OriginSettings {
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

interface ListFile {
  /**
   * Differs when the file was changed or replaced, and if it may have been changed again since without another time.
   */
  readonly stamp: string;
  /** Null: it has the stamp that was known. */
  readonly bytes: Uint8Array | null;
}

interface FileLimits {
  readonly maxBytes: number;
  /** The stamp of the bytes that the caller has. */
  readonly known: string | null;
  readonly nowMs: number;
}

/**
 * Systems write down times in steps of up to two seconds: a file that was changed later than this may change again in
 * the same one.
 */
const TIME_STEP_MS = 2_000;

/**
 * Reads a list below `directory`. Symbolic links may lead to other places below it, and nowhere else. Rejects with
 * AddressListProblem, whose message names neither content nor a path that the caller did not send.
 */
export async function readListFile(directory: string, file: string, limits: FileLimits): Promise<ListFile> {
  const root = await orProblem(
    realpath(directory),
    'is in a directory that cannot be read: check the setting lists_dir',
  );
  const isBelow = (path: string): boolean => path.startsWith(`${root}${sep}`);
  const path = join(root, file);
  const real = await realpath(path).catch(async (error: unknown) => {
    if (!isBelow(await placeOf(path))) throw new AddressListProblem(OUTSIDE);
    throw new AddressListProblem(`${NOT_READABLE} (${failureCode(error)})`);
  });
  if (!isBelow(real)) throw new AddressListProblem(OUTSIDE);
  return readRegularFile(real, limits, async (handle) => {
    // A directory in the path may have become a link since: the system knows what was opened.
    const opened = await readlink(`/proc/self/fd/${handle.fd}`).catch(() => realpath(real));
    if (!isBelow(opened)) throw new AddressListProblem(OUTSIDE);
  });
}

/** Reads a file that the operator named in a setting. */
function readNamedFile(path: string, limits: FileLimits): Promise<ListFile> {
  return realpath(path).then(
    (real) => readRegularFile(real, limits),
    (error: unknown) => Promise.reject(new AddressListProblem(`${NOT_READABLE} (${failureCode(error)})`)),
  );
}

const NOT_READABLE = 'cannot be read: check that the file exists and that the user of the server may read it';
/** The same words for a path outside and for one that does not exist: a key must not explore the disk of the server. */
const OUTSIDE =
  'is not a file below the directory in the setting lists_dir, after symbolic links are resolved: check the path, and that the user of the server may read it';

/** Where a file that cannot be found would be; "" if a link may lead anywhere. */
async function placeOf(path: string): Promise<string> {
  try {
    const found = await lstat(path).catch((error: unknown) => {
      if (failureCode(error) !== 'ENOENT') throw error;
    });
    return found?.isSymbolicLink() === true ? '' : join(await realpath(dirname(path)), basename(path));
  } catch {
    return '';
  }
}

async function readRegularFile(
  path: string,
  { maxBytes, known, nowMs }: FileLimits,
  check: (handle: FileHandle) => Promise<void> = () => Promise.resolve(),
): Promise<ListFile> {
  // A pipe would block without the flag, and a link that was put there meanwhile is not followed.
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;
  const handle = await orProblem(open(path, flags), NOT_READABLE);
  try {
    await check(handle);
    const { stamp, size, isFile, changedAtMs } = await factsOf(handle);
    if (!isFile) throw new AddressListProblem('is not a regular file');
    if (size > maxBytes) throw new AddressListProblem(`is larger than ${maxBytes} bytes`);
    if (stamp === known) return { stamp, bytes: null };
    const bytes = await orProblem(readAll(handle, size), NOT_READABLE);
    const after = await factsOf(handle);
    if (after.stamp !== stamp || bytes.length !== size)
      throw new AddressListProblem('changed while it was read: it is read again soon');
    const isSettled = Math.abs(nowMs - changedAtMs) > TIME_STEP_MS;
    return { stamp: isSettled ? stamp : `${stamp}:unsettled`, bytes };
  } finally {
    await handle.close();
  }
}

async function factsOf(
  handle: FileHandle,
): Promise<{ stamp: string; size: number; isFile: boolean; changedAtMs: number }> {
  const stats = await handle.stat({ bigint: true });
  return {
    stamp: `${stats.dev}:${stats.ino}:${stats.mtimeNs}:${stats.ctimeNs}:${stats.size}`,
    size: Number(stats.size),
    isFile: stats.isFile(),
    changedAtMs: Number(stats.ctimeMs),
  };
}

/** In memory of its own, which can move to another thread. */
async function readAll(handle: FileHandle, size: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(size);
  let at = 0;
  while (at < size) {
    const { bytesRead } = await handle.read(bytes, at, size - at, at);
    if (bytesRead === 0) return bytes.slice(0, at);
    at += bytesRead;
  }
  return bytes;
}

async function orProblem<Value>(task: Promise<Value>, problem: string): Promise<Value> {
  try {
    return await task;
  } catch (error) {
    throw new AddressListProblem(`${problem} (${failureCode(error)})`);
  }
}
