import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { open } from 'node:fs/promises';

interface Kinds {
  isFile(): boolean;
  isDirectory(): boolean;
  isFIFO(): boolean;
}

const MIB = 1_048_576;

/** The bytes of a file, or of a pipe of a shell. A device may have no end, and is refused. */
export async function readBounded(path: string, maxBytes: number): Promise<Buffer> {
  await using file = await open(path, 'r');
  requireEnd(await file.stat());
  return await gatherBounded(file.createReadStream({ autoClose: false }), maxBytes);
}

/** The same, for what is read before anything else runs. */
export function readBoundedSync(path: string, maxBytes: number): Buffer {
  const file = openSync(path, 'r');
  try {
    requireEnd(fstatSync(file));
    const chunks: Buffer[] = [];
    for (let total = 0; ; ) {
      const chunk = Buffer.alloc(65_536);
      const count = readSync(file, chunk);
      if (count === 0) return Buffer.concat(chunks);
      total += count;
      if (total > maxBytes) throw tooLarge(maxBytes);
      chunks.push(chunk.subarray(0, count));
    }
  } finally {
    closeSync(file);
  }
}

/** All bytes of a stream, such as standard input. */
export async function gatherBounded(stream: AsyncIterable<unknown>, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let total = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    total += chunk.length;
    // The size that the system reports says nothing about a pipe, and a file may grow.
    if (total > maxBytes) throw tooLarge(maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function requireEnd(found: Kinds): void {
  if (found.isDirectory()) throw unreadable('EISDIR');
  if (!found.isFile() && !found.isFIFO()) throw unreadable('it is neither a file nor a pipe. Name a file');
}

function tooLarge(maxBytes: number): Error {
  return unreadable(`it is larger than ${maxBytes < MIB ? `${maxBytes / 1024} KiB` : `${maxBytes / MIB} MiB`}`);
}

/** `whyUnreadable` finds it where errors of the system have their code, such as ENOENT. */
function unreadable(code: string): Error {
  return Object.assign(new Error(code), { code });
}
