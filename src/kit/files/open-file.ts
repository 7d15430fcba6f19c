import { type BigIntStats, close, constants, fstat, open, readlink, realpath } from 'node:fs';
import { join, sep } from 'node:path';
import { promisify } from 'node:util';

const opened = promisify(open);
const statOf = promisify(fstat) as unknown as (fd: number, options: { readonly bigint: true }) => Promise<BigIntStats>;
const linkOf = promisify(readlink) as (path: string) => Promise<string>;
const realPathOf = promisify(realpath.native) as (path: string) => Promise<string>;

/**
 * Linux: a descriptor that only names a file. A pipe or device has no side effect then. Node has no constant for it.
 */
const O_PATH = 0o10000000;
/** macOS: fails if any part of the path is a symbolic link. */
const O_NOFOLLOW_ANY = 0x20000000;
/** A pipe would block, and a terminal could become that of this process. */
const READ = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
const IS_LINUX = process.platform === 'linux';

/** A folder to serve. */
export interface FolderBounds {
  /** Absolute. */
  readonly folder: string;
  /** The folder must be one of these, or below one, after symbolic links are resolved; null: it may be anywhere. */
  readonly roots: readonly string[] | null;
  /** Nothing in these folders is served. */
  readonly forbidden: readonly string[];
}

/** A regular file or a folder that was found, and whose place is known. */
export interface FoundFile {
  /** For `openToRead` and `closeFile`. */
  readonly fd: number;
  readonly stats: BigIntStats;
  /** Without symbolic links. */
  readonly realPath: string;
}

/** Why a file is not served. `missing`: there is none, or none that may be served. */
export type NotServed = 'missing' | 'unreadable';

/** The folder itself cannot be served. The message is for the operator. */
export class FolderProblem extends Error {}

interface ResolvedBounds {
  readonly folder: string;
  readonly forbidden: readonly string[];
}

/** How long the real path of the folder is remembered: it may be a link that a deployment moves to another version. */
const RESOLVED_FOR_MS = 1_000;

/**
 * Opens files of one folder so that no symbolic link leads out, also none that is made meanwhile: what was opened is
 * compared, and not what would be opened. The descriptor is opened first, without reading. The system then tells the
 * real path of this descriptor, and only if that lies in the folder is the same descriptor opened to be read.
 */
export class OpenFolder {
  readonly #bounds: FolderBounds;
  #resolved: Promise<ResolvedBounds> | null = null;
  #resolvedAtMs = 0;

  constructor(bounds: FolderBounds) {
    this.#bounds = bounds;
  }

  /**
   * `names` has no empty name, no dots and no slashes. Throws `FolderProblem`, and system errors that are nobody's
   * choice.
   */
  async find(names: readonly string[]): Promise<FoundFile | NotServed> {
    const bounds = await this.#resolve();
    const path = join(bounds.folder, ...names);
    const found = await (IS_LINUX ? openedByPath(path) : openedWithoutLinks(path));
    if (typeof found === 'string') return found;
    if (this.#isServed(found, bounds)) return found;
    closeFile(found.fd);
    return 'missing';
  }

  #isServed({ stats, realPath }: FoundFile, { folder, forbidden }: ResolvedBounds): boolean {
    if (!stats.isFile() && !stats.isDirectory()) return false;
    if (!isIn(realPath, folder) || forbidden.some((each) => isIn(realPath, each))) return false;
    // A link to a hidden file in the same folder does not show it.
    return hiddenAt(realPath.slice(folder.length).split(sep).filter(Boolean)) === -1;
  }

  #resolve(): Promise<ResolvedBounds> {
    const nowMs = performance.now();
    if (this.#resolved === null || nowMs - this.#resolvedAtMs > RESOLVED_FOR_MS) {
      this.#resolvedAtMs = nowMs;
      const resolved = resolve(this.#bounds);
      this.#resolved = resolved;
      resolved.catch(() => {
        if (this.#resolved === resolved) this.#resolved = null;
      });
    }
    return this.#resolved;
  }
}

async function resolve({ folder, roots, forbidden }: FolderBounds): Promise<ResolvedBounds> {
  let real: string;
  try {
    real = await realPathOf(folder);
  } catch (error) {
    throw new FolderProblem(`the folder ${folder} cannot be opened (${codeOf(error)}): check that it exists`);
  }
  const [allowed, denied] = await Promise.all([realPaths(roots ?? []), realPaths(forbidden)]);
  if (roots !== null && !allowed.some((each) => isIn(real, each)))
    throw new FolderProblem(`the folder ${folder} is not below a folder of the setting file_roots on this server`);
  if (denied.some((each) => isIn(real, each)))
    throw new FolderProblem(`the folder ${folder} is in the data directory of this server`);
  return { folder: real, forbidden: denied };
}

/** One that does not exist allows nothing, and has nothing to forbid. */
async function realPaths(paths: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(paths.map((path) => realPathOf(path).catch(() => null)));
  return found.filter((each) => each !== null);
}

async function openedByPath(path: string): Promise<FoundFile | NotServed> {
  const fd = await openOrNot(path, O_PATH);
  if (typeof fd === 'string') return fd;
  try {
    const [stats, realPath] = await Promise.all([statOf(fd, { bigint: true }), linkOf(`/proc/self/fd/${fd}`)]);
    return { fd, stats, realPath };
  } catch (error) {
    closeFile(fd);
    throw error;
  }
}

/** The path is resolved first. A link that is put into it meanwhile makes the second step fail. */
async function openedWithoutLinks(path: string): Promise<FoundFile | NotServed> {
  let realPath: string;
  try {
    realPath = await realPathOf(path);
  } catch (error) {
    return refusalOf(error);
  }
  const fd = await openOrNot(realPath, READ | O_NOFOLLOW_ANY);
  if (typeof fd === 'string') return fd;
  try {
    return { fd, stats: await statOf(fd, { bigint: true }), realPath };
  } catch (error) {
    closeFile(fd);
    throw error;
  }
}

/** Another descriptor of the same file, to be read; the first one is closed. */
export async function openToRead({ fd }: FoundFile): Promise<number | NotServed> {
  if (!IS_LINUX) return fd;
  try {
    return await openOrNot(`/proc/self/fd/${fd}`, READ);
  } finally {
    closeFile(fd);
  }
}

async function openOrNot(path: string, flags: number): Promise<number | NotServed> {
  try {
    return await opened(path, flags);
  } catch (error) {
    return refusalOf(error);
  }
}

const MISSING: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG', 'ENXIO', 'EINVAL']);
const UNREADABLE: ReadonlySet<string> = new Set(['EACCES', 'EPERM']);

function refusalOf(error: unknown): NotServed {
  const code = codeOf(error);
  if (MISSING.has(code)) return 'missing';
  if (UNREADABLE.has(code)) return 'unreadable';
  throw error;
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown error';
}

/** Nobody waits for it. */
export function closeFile(fd: number): void {
  close(fd, () => {});
}

/** Whether a path is a folder, or lies in it. Both are real paths. */
export function isIn(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);
}

/** The position of the first hidden name, -1 for none. RFC 8615: `.well-known` is there to be found. */
export function hiddenAt(names: readonly string[]): number {
  return names.findIndex((name, at) => name.startsWith('.') && !(at === 0 && name === '.well-known'));
}

/** A path in a folder, as `find` takes it. */
const NAMES = /^[^/\\\p{Cc}]+(?:\/[^/\\\p{Cc}]+)*$/u;

/** What is wrong with the name of a file in a folder, to follow the name of its field; null: nothing. */
export function fileNameProblem(name: string): string | null {
  if (!NAMES.test(name) || name.split('/').some((each) => each === '.' || each === '..'))
    return 'must be the path of a file in the folder, such as index.html, without a slash at its start';
  return hiddenAt(name.split('/')) === -1 ? null : 'must not name a hidden file';
}
