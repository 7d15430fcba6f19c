import type { StoreLocation } from '../../src/store/offline-database.ts';
import { openPostgresStore } from '../../src/store/postgres/open-postgres-store.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite-store.ts';
import type { CommitMark } from '../../src/store/store.ts';
import { put } from './conformance/store-under-test.ts';

/**
 * Runs as its own process: opens the store, prints `ready`, and, on command, writes with several writers until it is
 * killed, with a line for every acknowledged write.
 */
const WRITERS = 8;
const location = JSON.parse(process.argv[2] ?? '') as StoreLocation;
const isWriting = process.argv[3] === 'write' || process.argv[3] === 'take-over';
const takesOverAt = JSON.parse(process.argv[4] ?? 'null') as CommitMark | null;

try {
  const { dataDir, secretKey = null } = location;
  const store =
    location.engine === 'sqlite'
      ? await openSqliteStore({ dataDir, secretKey, takesOverAt })
      : await openPostgresStore({ url: location.url, dataDir, secretKey });
  process.stdout.write('ready\n');
  if (isWriting) await Promise.all(Array.from({ length: WRITERS }, (_, writer) => writeForever(writer)));
  // The store's threads and connections keep the process alive until it is killed.
  async function writeForever(writer: number): Promise<void> {
    for (let n = 0; ; n += 1) {
      const id = `${process.pid}-${writer}-${n}`;
      const pair = [
        put('edge', id),
        put('route', id, { parent: id, references: [{ field: 'edge_id', to: { kind: 'edge', id } }] }),
      ];
      const result = await store.commit({ puts: pair });
      if (result.ok) process.stdout.write(`ok ${id} ${result.revision}\n`);
    }
  }
} catch (error) {
  process.stdout.write(`error ${(error as { code?: string }).code} ${(error as Error).message}\n`);
  process.exitCode = 1;
}
