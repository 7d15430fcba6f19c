import { reportBug } from '../guarded-listeners.ts';
import { chooseCoding, isCompressibleType } from '../http/content-coding.ts';
import { combinedValue, type HeaderList } from '../http/header-values.ts';
import { pathProblem } from '../http/urls.ts';
import { type CodedForms, FILE_CODINGS, type FileCoding, SUFFIX_OF, versionOf } from './coded-forms.ts';
import {
  type AnsweringFolder,
  type EmptyAnswer,
  type FileAnswer,
  FileExchange,
  type FileHandler,
  type FileRequest,
  type FolderAnswer,
  readWhole,
} from './file-exchange.ts';
import {
  BAD_PATH,
  FORBIDDEN,
  type FolderPage,
  listingPage,
  NO_SNIFFING,
  NOT_ALLOWED,
  NOT_FOUND,
  toFolder,
} from './folder-pages.ts';
import { loadMediaTypes } from './media-types.ts';
import {
  closeFile,
  type FolderBounds,
  type FoundFile,
  hiddenAt,
  type NotServed,
  OpenFolder,
  openToRead,
} from './open-file.ts';
import type { OpenFiles } from './open-files.ts';
import { isRangeCurrent, preconditionOf, type Validators } from './preconditions.ts';
import { wantedRange } from './range-header.ts';

/** How a folder is served. Paths are relative to it. */
export interface FolderRules extends FolderBounds {
  /** Names of the files that a folder is shown by, the first that exists. */
  readonly indexFiles: readonly string[];
  /** Sent with 200 for every path without a file, as applications of one page need it; null: such a path is 404. */
  readonly fallback: string | null;
  /** Sent with 404; null: a page of our own. */
  readonly notFoundPage: string | null;
  /** Whether a folder without an index file shows its content. */
  readonly listing: boolean;
  readonly compression: boolean;
}

/** What the folders of one thread share. */
export interface FolderParts {
  readonly files: OpenFiles;
  readonly forms: CodedForms;
}

/** A file that exists, and the status that it is sent with. */
interface Chosen {
  readonly found: FoundFile;
  readonly names: readonly string[];
  readonly status: 200 | 404;
}

/** A tag of a file that has just changed is weak: a second change could leave its time as it is (RFC 9110 §8.8.2.2). */
const SETTLED_AFTER_MS = 2_000;

/** Serves a folder. It has the form of an upstream: the edge and the agent send requests to it. */
export class FolderSite implements AnsweringFolder {
  readonly #rules: FolderRules;
  readonly #parts: FolderParts;
  readonly #folder: OpenFolder;
  #active = 0;
  #onIdle: (() => void)[] = [];

  constructor(rules: FolderRules, parts: FolderParts) {
    this.#rules = rules;
    this.#parts = parts;
    this.#folder = new OpenFolder(rules);
  }

  send(request: FileRequest, handler: FileHandler): FileExchange {
    this.#active += 1;
    const exchange = new FileExchange(request, handler, { site: this, files: this.#parts.files });
    void this.#serve(exchange);
    return exchange;
  }

  /** Never rejects: a handler that throws at a failure ends its own exchange alone. */
  async #serve(exchange: FileExchange): Promise<void> {
    try {
      await exchange.start();
    } catch (error) {
      reportBug(error, { part: 'served folder' });
    }
    this.#left();
  }

  #left(): void {
    this.#active -= 1;
    if (this.#active > 0) return;
    for (const idle of this.#onIdle.splice(0)) idle();
  }

  stats(): { readonly idle: number; readonly active: number } {
    return { idle: 0, active: this.#active };
  }

  async drain(): Promise<void> {
    if (this.#active > 0) await new Promise<void>((resolve) => this.#onIdle.push(resolve));
  }

  async reopen({ names, found }: Pick<FileAnswer, 'names' | 'found'>): Promise<number | null> {
    const again = await this.#folder.find(names);
    if (typeof again === 'string') return null;
    if (versionOf(again.stats) !== versionOf(found.stats)) {
      closeFile(again.fd);
      return null;
    }
    const fd = await openToRead(again);
    return typeof fd === 'string' ? null : fd;
  }

  async answer({ method, target, headers }: FileRequest): Promise<FolderAnswer> {
    if (method !== 'GET' && method !== 'HEAD') return NOT_ALLOWED;
    const end = target.indexOf('?');
    const path = end === -1 ? target : target.slice(0, end);
    if (pathProblem(target, path) !== null) return BAD_PATH;
    const names = namesOf(path);
    if (names === null) return this.#withStatus(headers, this.#rules.notFoundPage, 404);
    const isFolder = path.endsWith('/');
    const found = isFolder ? await this.#index(names) : await this.#folder.find(names);
    if (found === 'unreadable') return FORBIDDEN;
    if (isFolder && found === 'missing' && this.#rules.listing) {
      const listing = await this.#listing(names, path);
      if (listing !== null) return listing;
    }
    if (found === 'missing') return this.#missing(headers);
    if ('names' in found) return this.#withFile({ ...found, status: 200 }, headers, method);
    if (found.stats.isFile()) return this.#withFile({ found, names, status: 200 }, headers, method);
    closeFile(found.fd);
    return toFolder(path, end === -1 ? '' : target.slice(end));
  }

  async #index(names: readonly string[]): Promise<Omit<Chosen, 'status'> | NotServed> {
    for (const name of this.#rules.indexFiles) {
      const index = [...names, name];
      const found = await this.#folder.find(index);
      if (found === 'missing') continue;
      if (found === 'unreadable') return found;
      if (found.stats.isFile()) return { found, names: index };
      closeFile(found.fd);
    }
    return 'missing';
  }

  async #listing(names: readonly string[], path: string): Promise<FolderPage | null> {
    const found = await this.#folder.find(names);
    if (found === 'missing') return null;
    if (found === 'unreadable') return FORBIDDEN;
    try {
      return found.stats.isDirectory() ? await listingPage(found, path) : null;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EACCES') return FORBIDDEN;
      throw error;
    } finally {
      closeFile(found.fd);
    }
  }

  #missing(headers: HeaderList): Promise<FolderAnswer> {
    const { fallback, notFoundPage } = this.#rules;
    return fallback === null ? this.#withStatus(headers, notFoundPage, 404) : this.#withStatus(headers, fallback, 200);
  }

  async #withStatus(headers: HeaderList, file: string | null, status: Chosen['status']): Promise<FolderAnswer> {
    if (file === null) return NOT_FOUND;
    const names = file.split('/');
    const found = await this.#folder.find(names);
    if (found === 'missing') return NOT_FOUND;
    if (found === 'unreadable') return FORBIDDEN;
    if (found.stats.isFile()) return this.#withFile({ found, names, status }, headers, 'GET');
    closeFile(found.fd);
    return NOT_FOUND;
  }

  async #withFile(chosen: Chosen, headers: HeaderList, method: string): Promise<FolderAnswer> {
    let { fd }: { fd: number | null } = chosen.found;
    try {
      const { found } = chosen;
      const typeOf = await loadMediaTypes();
      const type = typeOf(chosen.names.at(-1) ?? '');
      const range = method === 'GET' && chosen.status === 200 ? combinedValue(headers, 'range') : undefined;
      const isVaried = this.#rules.compression && isCompressibleType(type);
      const own = ['content-type', type, ...(isVaried ? ['vary', 'Accept-Encoding'] : []), ...NO_SNIFFING];
      const coded = isVaried && range === undefined ? await this.#codedForm(chosen, own, headers) : null;
      if (coded !== null) return coded;
      const answer = wholeOrPart(chosen, own, { headers, range });
      if (!('length' in answer)) return answer;
      fd = null;
      const readable = await openToRead(found);
      if (readable === 'missing') return NOT_FOUND;
      if (readable === 'unreadable') return FORBIDDEN;
      return { ...answer, fd: readable, found, names: chosen.names };
    } finally {
      if (fd !== null) closeFile(fd);
    }
  }

  /** Null: it is sent as it is. */
  async #codedForm(chosen: Chosen, own: HeaderList, headers: HeaderList): Promise<FolderAnswer | null> {
    const acceptEncoding = combinedValue(headers, 'accept-encoding');
    if (acceptEncoding === undefined) return null;
    const { found, names, status } = chosen;
    const { forms } = this.#parts;
    const beside = await forms.beside(found, async (coding) => this.#closed(await this.#beside(chosen, coding)));
    const offered = forms.isCodable(found)
      ? [...beside, ...FILE_CODINGS.filter((each) => !beside.includes(each))]
      : beside;
    const coding = chooseCoding(acceptEncoding, offered);
    if (coding === null) return null;
    const validators = validatorsOf(found, coding);
    const all = [...own, 'content-encoding', coding, ...validatorHeaders(validators)];
    const empty = status === 200 ? emptyAnswer(headers, validators, all) : null;
    if (empty !== null) return empty;
    if (beside.includes(coding)) {
      const file = await this.#beside(chosen, coding);
      if (file === null) return null;
      const fd = await openToRead(file);
      if (typeof fd === 'string') return null;
      const length = Number(file.stats.size);
      return { status, headers: all, fd, found: file, names: withSuffix(names, coding), start: 0, length };
    }
    const body = await forms.form(found, coding, () => readWhole(this, { found, names }));
    return body === null ? null : { status, headers: all, body };
  }

  /** An older compressed form was forgotten when the file was changed. */
  async #beside({ found, names }: Chosen, coding: FileCoding): Promise<FoundFile | null> {
    const file = await this.#folder.find(withSuffix(names, coding));
    if (typeof file === 'string') return null;
    if (file.stats.isFile() && file.stats.mtimeNs >= found.stats.mtimeNs) return file;
    closeFile(file.fd);
    return null;
  }

  #closed(file: FoundFile | null): boolean {
    if (file !== null) closeFile(file.fd);
    return file !== null;
  }
}

/** Null: no file can have this path, or none that may be served. */
function namesOf(path: string): readonly string[] | null {
  const names: string[] = [];
  for (const segment of path.slice(1, path.endsWith('/') ? -1 : undefined).split('/')) {
    let name = segment;
    if (segment.includes('%')) {
      try {
        name = decodeURIComponent(segment);
      } catch {
        return null;
      }
    }
    if (/[/\\\p{Cc}]/u.test(name)) return null;
    if (name !== '') names.push(name);
  }
  return hiddenAt(names) === -1 ? names : null;
}

function withSuffix(names: readonly string[], coding: FileCoding): readonly string[] {
  return [...names.slice(0, -1), `${names.at(-1) ?? ''}${SUFFIX_OF[coding]}`];
}

function validatorsOf({ stats }: FoundFile, coding: FileCoding | null): Validators {
  const modifiedMs = Number(stats.mtimeMs);
  const nowMs = Date.now();
  const weak = nowMs - modifiedMs < SETTLED_AFTER_MS ? 'W/' : '';
  const tag = `${stats.mtimeNs.toString(36)}-${stats.size.toString(36)}${coding === null ? '' : `-${coding}`}`;
  // RFC 9110 §8.8.2.1: not later than now.
  return { etag: `${weak}"${tag}"`, modifiedMs: Math.floor(Math.min(modifiedMs, nowMs) / 1000) * 1000 };
}

function validatorHeaders({ etag, modifiedMs }: Validators): HeaderList {
  return ['etag', etag, 'last-modified', new Date(modifiedMs).toUTCString()];
}

function emptyAnswer(headers: HeaderList, validators: Validators, own: HeaderList): EmptyAnswer | null {
  const condition = preconditionOf(headers, validators);
  if (condition === 'passed') return null;
  // RFC 9110 §15.4.5: without what describes the body that the client has.
  const kept = own.filter((_, at) => !/^content-/.test(own[at - (at % 2)] ?? ''));
  return condition === 'failed' ? { status: 412, headers: NO_SNIFFING } : { status: 304, headers: kept };
}

interface Wanted {
  readonly headers: HeaderList;
  /** Absent: no part is asked for. */
  readonly range: string | undefined;
}

function wholeOrPart(
  { found, status }: Chosen,
  own: HeaderList,
  { headers, range }: Wanted,
): EmptyAnswer | Pick<FileAnswer, 'status' | 'headers' | 'start' | 'length'> {
  const size = Number(found.stats.size);
  if (status !== 200) return { status, headers: own, start: 0, length: size };
  const validators = validatorsOf(found, null);
  const all = [...own, ...validatorHeaders(validators), 'accept-ranges', 'bytes'];
  const empty = emptyAnswer(headers, validators, all);
  if (empty !== null) return empty;
  const isCurrent = isRangeCurrent(combinedValue(headers, 'if-range'), validators);
  const wanted = isCurrent ? wantedRange(range, size) : 'whole';
  if (wanted === 'whole') return { status: 200, headers: all, start: 0, length: size };
  if (wanted === 'none')
    return { status: 416, headers: ['content-range', `bytes */${size}`, 'accept-ranges', 'bytes', ...NO_SNIFFING] };
  const { start, end } = wanted;
  const headersOfPart = [...all, 'content-range', `bytes ${start}-${end}/${size}`];
  return { status: 206, headers: headersOfPart, start, length: end - start + 1 };
}
