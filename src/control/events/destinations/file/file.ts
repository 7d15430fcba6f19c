import { constants } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import Type from 'typebox';
import { KeyedMutex } from '../../../../kit/async/turns.ts';
import { makeDirectories } from '../../../../kit/process/durable-file.ts';
import { type DestinationPorts, type DestinationSender, defineDestinationKind } from '../destination-kind.ts';

interface FileConfig {
  readonly name: string;
}

/** A full or failing disk makes the lane wait: it may recover. Two destinations may share a file. */
function createFileSender(ports: DestinationPorts): DestinationSender<FileConfig> {
  const files = new Map<string, EventFile>();
  const turns = new KeyedMutex();

  function fileOf(name: string): EventFile {
    const known = files.get(name) ?? new EventFile(ports.folder, name, ports.fileLimits);
    files.set(name, known);
    return known;
  }

  return {
    send: ({ name }, { body }) =>
      turns.run(name, async () => {
        try {
          await fileOf(name).append(body);
          return { verdict: 'delivered', status: null, error: null };
        } catch (error) {
          const code = (error as NodeJS.ErrnoException).code ?? 'an error';
          return { verdict: 'wait', status: null, error: `the file could not be written: ${code}` };
        }
      }),
    close: async () => {
      for (const [name, file] of files) await turns.run(name, () => file.close());
    },
  };
}

/** Lines in a file under the data directory. */
export const file = defineDestinationKind({
  name: 'file',
  description: 'Appends each event as one line of JSON to a file in the data directory.',
  config: Type.Object({
    name: Type.String({
      minLength: 1,
      maxLength: 100,
      pattern: '^[A-Za-z0-9][A-Za-z0-9_-]*(\\.[A-Za-z0-9_-]+)*$',
      description:
        'Name of the file, without directories: letters, digits, "-", "_" and single dots, such as "audit.ndjson".',
    }),
  }),
  place: 'name',
  example: { name: 'audit.ndjson' },
  createSender: createFileSender,
});

interface EventFileLimits {
  readonly maxBytes: number;
  /** Full files kept beside the current one. */
  readonly maxFiles: number;
}

/** Links are not followed: a user who can create one in the folder could have events appended elsewhere. */
const APPEND = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW;
const TAIL_BYTES = 65_536;
const NEWLINE = 0x0a;

/**
 * Lines appended to a file, each on disk before `append` resolves. Full files are renamed to `name~1` (the newest),
 * `name~2` …: no destination can have such a name. A line truncated by a crash is removed before the next one: it was
 * never reported as delivered, and is sent again whole. One call at a time.
 */
class EventFile {
  readonly #path: string;
  readonly #limits: EventFileLimits;
  #file: FileHandle | null = null;
  #bytes = 0;

  constructor(folder: string, name: string, limits: EventFileLimits) {
    this.#path = join(folder, name);
    this.#limits = limits;
  }

  async append(line: string): Promise<void> {
    const bytes = Buffer.from(`${line}\n`);
    try {
      let file = this.#file ?? (await this.#open());
      if (this.#bytes > 0 && this.#bytes + bytes.length > this.#limits.maxBytes) file = await this.#rotate();
      await writeAll(file, bytes);
      await file.datasync();
      this.#bytes += bytes.length;
    } catch (error) {
      // The state on disk is unknown: the next call checks.
      await this.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = null;
    await file?.close().catch(() => {});
  }

  async #open(): Promise<FileHandle> {
    makeDirectories(dirname(this.#path), 0o700);
    const file = await open(this.#path, APPEND, 0o600);
    this.#file = file;
    this.#bytes = await withoutTornLine(file);
    await syncDirectory(dirname(this.#path));
    return file;
  }

  async #rotate(): Promise<FileHandle> {
    await this.close();
    const { maxFiles } = this.#limits;
    await rm(this.#aside(maxFiles), { force: true });
    for (let at = maxFiles - 1; at >= 1; at -= 1) await renameIfThere(this.#aside(at), this.#aside(at + 1));
    if (maxFiles > 0) await rename(this.#path, this.#aside(1));
    else await rm(this.#path);
    return this.#open();
  }

  #aside(number: number): string {
    return `${this.#path}~${number}`;
  }
}

async function writeAll(file: FileHandle, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at)).bytesWritten;
}

/** Returns the remaining length. */
async function withoutTornLine(file: FileHandle): Promise<number> {
  const { size } = await file.stat();
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - TAIL_BYTES);
    const { buffer } = await file.read(Buffer.alloc(end - start), 0, end - start, start);
    const newline = buffer.lastIndexOf(NEWLINE);
    const length = newline === -1 ? start : start + newline + 1;
    if (newline !== -1 || start === 0) {
      if (length < size) await file.truncate(length);
      return length;
    }
    end = start;
  }
  return 0;
}

async function renameIfThere(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

/** A new name is durable only after its directory is synced. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, constants.O_RDONLY);
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
