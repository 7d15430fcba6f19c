import { open } from 'node:fs/promises';
import { text as textOf } from 'node:stream/consumers';
import { importErrors } from './errors.ts';

export const MAX_INPUT_BYTES = 64 * 1024 * 1024;

export interface ImportInput {
  /** For messages. */
  readonly name: string;
  readonly text: string;
}

/** The text of a file, or of standard input for `-`. Binary files, other encodings and huge files are rejected by name. */
export async function readInput(path: string): Promise<ImportInput> {
  const name = path === '-' ? 'standard input' : path;
  const bytes = path === '-' ? Buffer.from(await textOf(process.stdin)) : await readBounded(path, name);
  if (bytes.length > MAX_INPUT_BYTES) throw tooLarge(name);
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) {
    throw inputError(name, 1, 'is encoded as UTF-16: convert it to UTF-8');
  }
  const zero = bytes.indexOf(0);
  if (zero !== -1) throw inputError(name, lineAt(bytes, zero), 'is not a text file');
  try {
    return { name, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    throw inputError(name, lineAt(bytes, firstInvalid(bytes)), 'is not encoded as UTF-8: convert it');
  }
}

/** A problem with the input, at a line of it. */
export function inputError(name: string, line: number | null, problem: string): Error {
  return importErrors.create('ERR_POSTERN_IMPORT_INPUT', `${name}${line === null ? '' : `:${line}`}: ${problem}`);
}

async function readBounded(path: string, name: string): Promise<Buffer> {
  try {
    await using file = await open(path, 'r');
    const { size } = await file.stat();
    if (size > MAX_INPUT_BYTES) throw tooLarge(name);
    // Devices and pipes say no size.
    const chunks: Buffer[] = [];
    let total = 0;
    for await (const chunk of file.createReadStream({ autoClose: false })) {
      chunks.push(chunk as Buffer);
      total += (chunk as Buffer).length;
      if (total > MAX_INPUT_BYTES) throw tooLarge(name);
    }
    return Buffer.concat(chunks);
  } catch (error) {
    if (!(error instanceof Error) || !('syscall' in error)) throw error;
    throw inputError(name, null, `cannot be read (${String((error as NodeJS.ErrnoException).code)})`);
  }
}

function tooLarge(name: string): Error {
  return inputError(name, null, `is larger than ${MAX_INPUT_BYTES / 1024 / 1024} MiB`);
}

function lineAt(bytes: Buffer, index: number): number {
  let line = 1;
  for (let at = 0; at < index; at += 1) if (bytes[at] === 0x0a) line += 1;
  return line;
}

/** The line that the decoder rejects: found by decoding line by line. */
function firstInvalid(bytes: Buffer): number {
  let start = 0;
  while (start < bytes.length) {
    const end = bytes.indexOf(0x0a, start);
    const stop = end === -1 ? bytes.length : end;
    try {
      new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(start, stop));
    } catch {
      return start;
    }
    start = stop + 1;
  }
  return 0;
}
