import { type BigIntStats, fstat, read } from 'node:fs';
import { promisify } from 'node:util';
import { messageOf } from '../error-text.ts';
import type { HeaderList } from '../http/header-values.ts';
import { versionOf } from './coded-forms.ts';
import type { FolderPage } from './folder-pages.ts';
import { closeFile, FolderProblem, type FoundFile } from './open-file.ts';
import { CHUNK_BYTES, type OpenFiles } from './open-files.ts';

const statOf = promisify(fstat) as unknown as (fd: number, options: { readonly bigint: true }) => Promise<BigIntStats>;

/** The part of a request that a folder reads. */
export interface FileRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: HeaderList;
  readonly visitor?: string;
  readonly body:
    | { readonly framing: 'none' }
    | { readonly framing: 'length' | 'chunked'; readonly source: { resume(): unknown } };
}

/** A response with a file, which is open to be read. */
export interface FileAnswer {
  readonly status: number;
  readonly headers: HeaderList;
  readonly fd: number;
  readonly found: FoundFile;
  /** To find the same file again. */
  readonly names: readonly string[];
  readonly start: number;
  readonly length: number;
}

/** No body, although GET could have one: 304, 412, 416. */
export interface EmptyAnswer {
  readonly status: number;
  readonly headers: HeaderList;
}

export type FolderAnswer = FileAnswer | EmptyAnswer | FolderPage;

/** The folder, as an exchange needs it. */
export interface AnsweringFolder {
  answer(request: FileRequest): Promise<FolderAnswer>;
  /** The same file again, open to be read; null: it has changed, or is gone. */
  reopen(answer: Pick<FileAnswer, 'names' | 'found'>): Promise<number | null>;
}

export interface FileFailure {
  readonly phase: 'connect' | 'send' | 'body';
  readonly reason: string;
  readonly message: string;
  readonly mayHaveBeenSent: boolean;
  readonly isSafe?: boolean;
}

/** Receives a response, as from any upstream. */
export interface FileHandler {
  onHead(head: FileHead): void;
  /** False: no more until `resume`. */
  onData(chunk: Buffer): boolean;
  /** The same for bytes that are overwritten after the call. */
  onBorrowedData?(chunk: Buffer): boolean;
  onEnd(trailers: HeaderList): void;
  onFailure(failure: FileFailure): void;
  onBug(error: unknown): void;
}

interface FileHead {
  readonly status: number;
  readonly headers: HeaderList;
  readonly bodyBytes: number;
  readonly declaredBytes: number | null;
}

interface ExchangeParts {
  readonly site: AnsweringFolder;
  readonly files: OpenFiles;
}

/** Why no file can be opened now, in the words of upstreams. */
const REASON_OF_SHORTAGE = { full: 'upstream_full', share: 'upstream_share', descriptors: 'too_many_files' } as const;
const OUT_OF_DESCRIPTORS: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE']);

/** The file is no longer the one whose response has begun. */
class ChangedFile extends Error {}

/**
 * A request to a folder. *Looking* for the answer, *sending* a file in chunks, *resting* while the reader has no room,
 * *over*. While it rests and many files are open, its own is closed; it is opened again for the next chunk, and
 * compared with the one before.
 */
export class FileExchange {
  /** A chunk is handed over as soon as it was read. */
  readonly heldBytes = 0;
  readonly #request: FileRequest;
  readonly #handler: FileHandler;
  readonly #parts: ExchangeParts;
  #place: number | null = null;
  #fd: number | null = null;
  #hasBegun = false;
  #isOver = false;
  #hasRoom = true;
  #wake: (() => void) | null = null;

  constructor(request: FileRequest, handler: FileHandler, parts: ExchangeParts) {
    this.#request = request;
    this.#handler = handler;
    this.#parts = parts;
  }

  resume(): void {
    this.#hasRoom = true;
    this.#wake?.();
  }

  abort(): void {
    this.#isOver = true;
    this.#wake?.();
  }

  /** Resolves when nothing is open any longer; never rejects. */
  async start(): Promise<void> {
    try {
      // The caller must know this exchange before it hears from it.
      await Promise.resolve();
      if (!this.#isOver) await this.#run();
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#close();
    }
  }

  async #run(): Promise<void> {
    const { files, site } = this.#parts;
    const { visitor, body } = this.#request;
    // Nothing reads it.
    if (body.framing !== 'none') body.source.resume();
    const shortage = files.shortage(visitor);
    if (shortage !== null) {
      this.#fail({ phase: 'connect', reason: REASON_OF_SHORTAGE[shortage], message: 'too many files are open' });
      return;
    }
    this.#place = files.enter(visitor);
    const answer = await site.answer(this.#request);
    if ('fd' in answer) this.#fd = answer.fd;
    if (!this.#isOver) await this.#send(answer);
  }

  async #send(answer: FolderAnswer): Promise<void> {
    const isHead = this.#request.method === 'HEAD';
    if ('fd' in answer && !isHead) {
      await this.#sendFile(answer);
      return;
    }
    this.#close();
    const { status } = answer;
    const body = 'body' in answer ? answer.body : null;
    const declared = 'length' in answer ? answer.length : (body?.length ?? null);
    const isEmpty = isHead || body === null;
    this.#begin(answer, isEmpty ? 0 : (declared ?? 0), status === 304 || status === 204 ? null : declared);
    if (body !== null && !isHead && body.length > 0) this.#handler.onData(body);
    this.#end();
  }

  #begin({ status, headers }: FolderAnswer, bodyBytes: number, declaredBytes: number | null): void {
    this.#hasBegun = true;
    this.#handler.onHead({ status, headers, bodyBytes, declaredBytes });
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#handler.onEnd([]);
  }

  async #sendFile(answer: FileAnswer): Promise<void> {
    const { length } = answer;
    let sent = 0;
    do {
      const buffer = this.#handler.onBorrowedData === undefined ? null : this.#parts.files.takeBuffer();
      const chunk = buffer ?? Buffer.allocUnsafeSlow(Math.min(CHUNK_BYTES, length - sent));
      try {
        const wanted = Math.min(CHUNK_BYTES, length - sent);
        const count = await this.#read(answer, chunk, { position: answer.start + sent, wanted });
        if (this.#isOver) return;
        sent += count;
        if (sent === length) await this.#finishFile(answer);
        if (this.#isOver) return;
        if (!this.#hasBegun) this.#begin(answer, length, length);
        this.#hasRoom = count === 0 || this.#handOver(chunk.subarray(0, count), buffer !== null);
      } finally {
        if (buffer !== null) this.#parts.files.giveBack(buffer);
      }
      if (!this.#hasRoom && sent < length) await this.#rest(answer);
    } while (sent < length && !this.#isOver);
    this.#end();
  }

  #handOver(chunk: Buffer, isBorrowed: boolean): boolean {
    const handler = this.#handler;
    return isBorrowed ? (handler.onBorrowedData?.(chunk) ?? true) : handler.onData(chunk);
  }

  /** Throws if the file became shorter. */
  async #read(
    answer: FileAnswer,
    into: Buffer,
    { position, wanted }: { readonly position: number; readonly wanted: number },
  ): Promise<number> {
    let count = 0;
    while (count < wanted) {
      const got = await readInto(this.#fd ?? answer.fd, into, { at: count, wanted: wanted - count, position });
      if (got === 0) throw new ChangedFile('the file became shorter while it was sent');
      count += got;
    }
    return count;
  }

  /** Before the last chunk is sent: a client must not take a mixture of two versions for a whole file. */
  async #finishFile({ fd, found }: FileAnswer): Promise<void> {
    const stats = await statOf(this.#fd ?? fd, { bigint: true });
    if (versionOf(stats) !== versionOf(found.stats)) throw new ChangedFile('the file changed while it was sent');
    this.#close();
  }

  async #rest(answer: FileAnswer): Promise<void> {
    if (this.#parts.files.isCrowded) this.#close();
    while (!this.#hasRoom && !this.#isOver) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#wake = null;
    if (this.#isOver || this.#fd !== null) return;
    this.#place = await this.#parts.files.enterInTurn(this.#request.visitor);
    if (this.#isOver) return;
    this.#fd = await this.#parts.site.reopen(answer);
    if (this.#fd === null) throw new ChangedFile('the file changed while it was sent');
  }

  #close(): void {
    if (this.#fd !== null) closeFile(this.#fd);
    this.#fd = null;
    if (this.#place !== null) this.#parts.files.leave(this.#place);
    this.#place = null;
  }

  #failed(error: unknown): void {
    if (this.#isOver) return;
    const { code, syscall } = (error ?? {}) as NodeJS.ErrnoException;
    const message = messageOf(error);
    if (error instanceof FolderProblem) this.#fail({ phase: 'connect', reason: 'no_folder', message });
    else if (error instanceof ChangedFile) this.#fail({ phase: 'send', reason: 'changed', message });
    else if (code !== undefined && OUT_OF_DESCRIPTORS.has(code))
      this.#fail({ phase: 'connect', reason: 'too_many_files', message });
    else if (syscall !== undefined) this.#fail({ phase: 'send', reason: 'failed', message });
    else {
      this.#isOver = true;
      this.#handler.onBug(error);
    }
  }

  #fail(failure: Pick<FileFailure, 'phase' | 'reason' | 'message'>): void {
    this.#isOver = true;
    const phase = this.#hasBegun ? 'body' : failure.phase;
    this.#handler.onFailure({ ...failure, phase, mayHaveBeenSent: this.#hasBegun, isSafe: !this.#hasBegun });
  }
}

interface Wanted {
  /** In the buffer. */
  readonly at: number;
  readonly wanted: number;
  /** In the file, of the buffer's first byte. */
  readonly position: number;
}

function readInto(fd: number, into: Buffer, { at, wanted, position }: Wanted): Promise<number> {
  return new Promise((resolve, reject) => {
    read(fd, into, at, wanted, position + at, (error, count) => {
      if (error === null) resolve(count);
      else reject(error);
    });
  });
}

/** The whole file, to be compressed; null: it changed meanwhile, or is gone. */
export async function readWhole(
  site: Pick<AnsweringFolder, 'reopen'>,
  answer: Pick<FileAnswer, 'names' | 'found'>,
): Promise<Buffer | null> {
  const fd = await site.reopen(answer);
  if (fd === null) return null;
  try {
    const body = Buffer.allocUnsafeSlow(Number(answer.found.stats.size));
    let count = 0;
    while (count < body.length) {
      const got = await readInto(fd, body, { at: count, wanted: body.length - count, position: 0 });
      if (got === 0) return null;
      count += got;
    }
    const stats = await statOf(fd, { bigint: true });
    return versionOf(stats) === versionOf(answer.found.stats) ? body : null;
  } finally {
    closeFile(fd);
  }
}
