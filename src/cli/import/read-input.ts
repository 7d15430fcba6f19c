import { whyUnreadable } from '../../lib/error-text.ts';
import { usage } from '../../lib/flags.ts';
import { gatherBounded, readBounded } from '../../lib/read-bounded.ts';
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
  const reading = path === '-' ? gatherBounded(process.stdin, MAX_INPUT_BYTES) : readBounded(path, MAX_INPUT_BYTES);
  const bytes = await reading.catch((cause: unknown) => {
    throw usage(`cannot read ${name}: ${whyUnreadable(cause)}`);
  });
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
