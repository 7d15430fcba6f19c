import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isJsonObject, type JsonObject } from '../../kit/json.ts';
import { isTable } from '../../kit/net/address-table.ts';
import { writeDurably } from '../../kit/process/durable-file.ts';

const SUFFIX = '.table';
const DIGEST_BYTES = 32;
const LENGTH_BYTES = 4;
/** Written and digested at once, so that a large table never blocks the thread. */
const SLICE_BYTES = 1024 * 1024;
const OWNER_ONLY = 0o600;
/** No write takes so long. */
const LEFTOVER_MS = 3_600_000;

/** A table on disk, with what is known of its source. */
interface KeptTable {
  readonly source: string;
  readonly entries: number;
  readonly skippedLines: number;
  readonly loadedAtMs: number;
  readonly etag: string;
  readonly lastModified: string;
  readonly table: SharedArrayBuffer;
}

/**
 * The last good tables of this node, one file each: the length of a header, the header in JSON, the table, a digest of
 * all. A file is replaced as a whole, and one that is damaged counts as absent.
 */
export class KeptTables {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async write(id: string, { table, ...facts }: KeptTable): Promise<void> {
    const header = Buffer.from(JSON.stringify(facts));
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32BE(header.length);
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await writeDurably(this.#path(id), withDigest(Buffer.concat([length, header]), Buffer.from(table)), OWNER_ONLY);
  }

  /** Null: there is none, or it is damaged. */
  async read(id: string): Promise<KeptTable | null> {
    const bytes = await readFile(this.#path(id)).catch(() => null);
    if (bytes === null || bytes.length < DIGEST_BYTES + LENGTH_BYTES) return null;
    const content = bytes.subarray(0, -DIGEST_BYTES);
    if (!(await digestOf(content)).equals(bytes.subarray(-DIGEST_BYTES))) return null;
    const headerEnd = LENGTH_BYTES + content.readUInt32BE(0);
    const table = new SharedArrayBuffer(Math.max(0, content.length - headerEnd));
    new Uint8Array(table).set(content.subarray(headerEnd));
    const facts = factsIn(content.toString('utf8', LENGTH_BYTES, headerEnd));
    return facts === null || !isTable(table) ? null : { ...(facts as unknown as Omit<KeptTable, 'table'>), table };
  }

  async remove(id: string): Promise<void> {
    await rm(this.#path(id), { force: true });
  }

  /** Removes the tables of lists that no longer exist, and what a crash left. */
  async keepOnly(isKept: (id: string) => boolean): Promise<void> {
    for (const name of await readdir(this.#folder).catch(() => [])) {
      const path = join(this.#folder, name);
      const isOwn = name.endsWith(SUFFIX) && isKept(name.slice(0, -SUFFIX.length));
      // A process that is being replaced may be writing one of these.
      const isWritten = name.endsWith('.tmp') && (await ageMs(path)) < LEFTOVER_MS;
      if (!isOwn && !isWritten) await rm(path, { force: true });
    }
  }

  #path(id: string): string {
    return join(this.#folder, `${id}${SUFFIX}`);
  }
}

/** A file that is gone has no age. */
async function ageMs(path: string): Promise<number> {
  const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Number.NaN }));
  return Date.now() - mtimeMs;
}

function* withDigest(head: Buffer, table: Buffer): Iterable<Buffer> {
  const digest = createHash('sha256').update(head);
  yield head;
  for (let at = 0; at < table.length; at += SLICE_BYTES) {
    const slice = table.subarray(at, at + SLICE_BYTES);
    digest.update(slice);
    yield slice;
  }
  yield digest.digest();
}

/** Not on this thread: a large table takes 100 ms. */
async function digestOf(content: Buffer<ArrayBuffer>): Promise<Buffer> {
  return Buffer.from(await crypto.subtle.digest('SHA-256', content));
}

function factsIn(text: string): JsonObject | null {
  try {
    const facts: unknown = JSON.parse(text);
    return isJsonObject(facts as never) ? (facts as JsonObject) : null;
  } catch {
    return null;
  }
}

/** A table that a list was made into. */
export interface BuiltTable {
  readonly table: SharedArrayBuffer;
  readonly entries: number;
  readonly skippedLines: number;
}

export type ListFormat = 'plain' | 'mmdb';

/** What the thread that builds tables is asked, and what it answers. Problems are messages for the operator. */
export interface BuildJob {
  readonly format: ListFormat;
  /** The bytes of the list, in order. */
  readonly chunks: readonly Uint8Array[];
}

export type BuildAnswer = BuiltTable | { readonly problem: string };
