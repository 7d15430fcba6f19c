import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { rfc3339 } from '../lib/clock.ts';
import type { JsonObject, JsonValue } from '../lib/json.ts';
import { listsInBytes } from '../lib/pki/revocation-list/read-lists.ts';
import type { RevocationList } from '../lib/pki/revocation-list/revocation-list.ts';

/** Limit for one authority. A list of 200,000 entries has 7 MB. */
export const MAX_CRL_BYTES = 16 * 1024 * 1024;

const compress = promisify(gzip);
const decompress = promisify(gunzip);

/** The record of fetched lists. Compressed, a list takes half: only its serial numbers are random. */
export async function storedCrl(lists: readonly RevocationList[], url: string, nowMs: number): Promise<JsonObject> {
  const encoded: JsonValue[] = [];
  for (const { der } of lists) encoded.push((await compress(der, { level: 1 })).toString('base64'));
  return { url, fetched_at: rfc3339(nowMs), lists: encoded, ...(lists[0] && describeList(lists[0])) };
}

/** The lists of a record. Throws when the record is damaged. */
export async function listsInRecord(doc: JsonObject): Promise<readonly RevocationList[]> {
  const lists: RevocationList[] = [];
  for (const text of doc['lists'] as readonly string[]) {
    const der = await decompress(Buffer.from(text, 'base64'), { maxOutputLength: MAX_CRL_BYTES });
    lists.push(...(await listsInBytes(der)));
  }
  return lists;
}

export interface DescribedList {
  readonly this_update: string;
  readonly next_update: string;
  readonly number: string | null;
  readonly entry_count: number;
}

/** Readable without parsing the list. */
export function describeList({
  thisUpdateMs,
  nextUpdateMs,
  number,
  serials,
}: RevocationList): DescribedList & JsonObject {
  return {
    this_update: rfc3339(thisUpdateMs),
    next_update: rfc3339(nextUpdateMs),
    number: number === null ? null : number.toString(),
    entry_count: serials.count,
  };
}
