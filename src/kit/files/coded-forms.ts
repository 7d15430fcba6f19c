import type { BigIntStats } from 'node:fs';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip, zstdCompress } from 'node:zlib';
import { LruMap } from '../lru-map.ts';

/** Codings of files, in order of preference. Nobody publishes files in `deflate`. */
export const FILE_CODINGS = ['zstd', 'br', 'gzip'] as const;
export type FileCoding = (typeof FILE_CODINGS)[number];

/** Files of a compressed form, beside the file itself. */
export const SUFFIX_OF: Readonly<Record<FileCoding, string>> = { zstd: '.zst', br: '.br', gzip: '.gz' };

/** Smaller files fit into one packet either way. */
const MIN_BYTES = 1_024;
/** Larger ones are sent as they are, unless a compressed form stands beside them. */
const MAX_BYTES = 4 * 1_048_576;
/** What all compressed forms of one thread may take together. */
const MAX_KEPT_BYTES = 32 * 1_048_576;
/** Files that are compressed at once, in one thread: the runtime has four threads for this, for files and for names. */
const MAX_BUSY = 2;
/** As many as have a compressed form in memory, or are known to have none. */
const MAX_KNOWN = 10_000;
/** How long it is remembered which compressed forms stand beside a file. */
const LOOK_AGAIN_MS = 2_000;

const zstd = promisify(zstdCompress);
const brotli = promisify(brotliCompress);
const gzipped = promisify(gzip);

/** Levels above those of single responses: the work is done once. */
const COMPRESS: Readonly<Record<FileCoding, (body: Buffer) => Promise<Buffer>>> = {
  zstd: (body) => zstd(body, { params: { [constants.ZSTD_c_compressionLevel]: 9 } }),
  br: (body) =>
    brotli(body, {
      params: { [constants.BROTLI_PARAM_QUALITY]: 6, [constants.BROTLI_PARAM_SIZE_HINT]: body.length },
    }),
  gzip: (body) => gzipped(body, { level: 7 }),
};

interface KnownFile {
  readonly version: string;
  /** Compressed forms beside the file; null: nobody has looked. */
  beside: readonly FileCoding[] | null;
  lookedAtMs: number;
  /** Null: it is not smaller than the file. */
  readonly made: Map<FileCoding, Buffer | null>;
  readonly making: Map<FileCoding, Promise<Buffer | null>>;
}

/** A file, as far as its compressed forms depend on it. */
export interface CodableFile {
  readonly realPath: string;
  readonly stats: BigIntStats;
}

/** Changes with the content of a file. */
export function versionOf({ mtimeNs, size, ino, dev }: BigIntStats): string {
  return `${mtimeNs}-${size}-${ino}-${dev}`;
}

/** The compressed forms of files in one thread: each is made once and kept, the least recently used leave first. */
export class CodedForms {
  readonly #known = new LruMap<string, KnownFile>(MAX_KNOWN);
  /** By path and coding, in the order of use. */
  readonly #kept = new Map<string, { readonly file: KnownFile; readonly coding: FileCoding; readonly bytes: number }>();
  #keptBytes = 0;
  #busy = 0;

  get keptBytes(): number {
    return this.#keptBytes;
  }

  /** Which compressed forms stand beside the file. `look` returns those that are at least as new as the file. */
  async beside(file: CodableFile, look: (coding: FileCoding) => Promise<boolean>): Promise<readonly FileCoding[]> {
    const known = this.#of(file);
    const nowMs = performance.now();
    if (known.beside !== null && nowMs - known.lookedAtMs < LOOK_AGAIN_MS) return known.beside;
    const found = await Promise.all(FILE_CODINGS.map(async (coding) => ((await look(coding)) ? [coding] : [])));
    known.beside = found.flat();
    known.lookedAtMs = nowMs;
    return known.beside;
  }

  /** Whether the file may be compressed here. */
  isCodable({ stats: { size } }: CodableFile): boolean {
    return size >= MIN_BYTES && size <= MAX_BYTES;
  }

  /** Null: send the file as it is. `read` returns the whole file. */
  async form(file: CodableFile, coding: FileCoding, read: () => Promise<Buffer | null>): Promise<Buffer | null> {
    const known = this.#of(file);
    const made = known.made.get(coding);
    if (made !== undefined) {
      this.#use(file.realPath, known, coding, made);
      return made;
    }
    const making = known.making.get(coding);
    if (making !== undefined) return making;
    if (this.#busy >= MAX_BUSY) return null;
    const started = this.#make(file, known, coding, read);
    known.making.set(coding, started);
    return started;
  }

  async #make(
    file: CodableFile,
    known: KnownFile,
    coding: FileCoding,
    read: () => Promise<Buffer | null>,
  ): Promise<Buffer | null> {
    this.#busy += 1;
    try {
      const body = await read();
      if (body === null) return null;
      const coded = await COMPRESS[coding](body);
      const made = coded.length < body.length ? coded : null;
      known.made.set(coding, made);
      this.#use(file.realPath, known, coding, made);
      return made;
    } finally {
      this.#busy -= 1;
      known.making.delete(coding);
    }
  }

  /** The latest use comes last. */
  #use(path: string, file: KnownFile, coding: FileCoding, made: Buffer | null): void {
    if (made === null) return;
    const key = `${coding} ${path}`;
    this.#drop(key, file);
    this.#kept.set(key, { file, coding, bytes: made.length });
    this.#keptBytes += made.length;
    for (const oldest of this.#kept.keys()) {
      if (this.#keptBytes <= MAX_KEPT_BYTES) break;
      this.#drop(oldest, null);
    }
  }

  #drop(key: string, keptBy: KnownFile | null): void {
    const kept = this.#kept.get(key);
    if (kept === undefined) return;
    this.#kept.delete(key);
    this.#keptBytes -= kept.bytes;
    if (kept.file !== keptBy) kept.file.made.delete(kept.coding);
  }

  #of({ realPath, stats }: CodableFile): KnownFile {
    const version = versionOf(stats);
    const known = this.#known.get(realPath);
    if (known?.version === version) return known;
    for (const coding of FILE_CODINGS) this.#drop(`${coding} ${realPath}`, null);
    const fresh = { version, beside: null, lookedAtMs: 0, made: new Map(), making: new Map() };
    this.#known.set(realPath, fresh);
    return fresh;
  }
}
