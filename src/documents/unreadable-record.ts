import { MissingPart } from '../lib/async/missing-part.ts';
import { PosternError } from '../lib/errors.ts';
import { storeErrors } from '../store/errors.ts';
import type { RecordKey, StoredRecord } from '../store/store.ts';

/** Reads a stored record. One that the API would not have written (`GET /problems` names it) is a named error. */
export function readingRecord<Result>({ kind, id }: RecordKey, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (error instanceof PosternError || error instanceof MissingPart) throw error;
    throw unreadable({ kind, id }, error);
  }
}

interface ReadsLive<Ports> {
  read(records: readonly StoredRecord[], ports: Ports): Promise<ReadonlyMap<string, object>>;
}

/** The same for the live fields of several records, of which one may be the cause. */
export async function readingLive<Live extends ReadsLive<Ports>, Ports>(
  live: Live,
  records: readonly StoredRecord[],
  ports: Ports,
): Promise<Awaited<ReturnType<Live['read']>>> {
  const read = async (some: readonly StoredRecord[]): Promise<Awaited<ReturnType<Live['read']>>> =>
    (await live.read(some, ports)) as Awaited<ReturnType<Live['read']>>;
  try {
    return await read(records);
  } catch (error) {
    if (error instanceof PosternError || error instanceof MissingPart) throw error;
    for (const record of records) {
      const isReadable = await read([record]).then(
        () => true,
        () => false,
      );
      if (!isReadable) throw unreadable(record, error);
    }
    throw error;
  }
}

function unreadable({ kind, id }: RecordKey, cause: unknown): Error {
  return storeErrors.create(
    'ERR_POSTERN_STORE_CORRUPT',
    `the stored record ${id} (${kind}) cannot be read: it is not what the API writes. Delete it and create it again, or restore a backup from before`,
    { details: { id }, cause },
  );
}
