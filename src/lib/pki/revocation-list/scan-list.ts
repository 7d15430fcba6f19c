import { createHash } from 'node:crypto';
import { DER, DerCursor, DerProblem } from '../der-cursor.ts';
import { checkEntryExtensions, type ListExtensions, NO_EXTENSIONS, readListExtensions } from './list-extensions.ts';
import { ListProblem } from './list-problem.ts';
import type { RevocationList } from './revocation-list.ts';
import { SerialTable } from './serial-table.ts';

/** Entries between two pauses: well below a millisecond. */
const STEP = 1024;
/** Bytes hashed between two pauses. */
const HASHED_BYTES = 524_288;
/** RFC 5280 §4.1.2.2 allows 20 bytes; some old authorities used more. */
const MAX_SERIAL_BYTES = 64;
const TIMES: ReadonlySet<number> = new Set([DER.utcTime, DER.generalizedTime]);

/** Parses a list in DER, in steps. Throws ListProblem. */
export function* scanList(bytes: Buffer): Generator<void, RevocationList> {
  try {
    return yield* scan(bytes);
  } catch (error) {
    if (error instanceof DerProblem) throw new ListProblem(`is not a revocation list in DER: it ${error.message}`);
    throw error;
  }
}

function* scan(bytes: Buffer): Generator<void, RevocationList> {
  const whole = new DerCursor(bytes);
  const list = whole.read(DER.sequence).inside();
  whole.expectEnd();
  const signed = list.read(DER.sequence).element;
  const fields = list.inside();
  const algorithm = list.read(DER.sequence).element;
  const value = bitsOf(list.read(DER.bitString).contents);
  list.expectEnd();

  const version = fields.nextTag === DER.integer ? (fields.read(DER.integer).contents[0] ?? 0) : 0;
  if (version > 1) throw new ListProblem(`has the unknown version ${version + 1}`);
  // RFC 5280 §5.1.1.2: both name the algorithm, and one of them is not signed.
  if (!fields.read(DER.sequence).element.equals(algorithm)) {
    throw new ListProblem('names two different signature algorithms');
  }
  const issuer = fields.read(DER.sequence).element;
  const thisUpdateMs = readTime(fields);
  if (!TIMES.has(fields.nextTag)) {
    throw new ListProblem('has no nextUpdate, so nobody can tell when it is stale: issue it with one');
  }
  const nextUpdateMs = readTime(fields);
  const serials = new SerialTable(bytes);
  if (fields.nextTag === DER.sequence) yield* scanEntries(fields.read(DER.sequence).inside(), serials);
  yield* serials.build(STEP);
  let extensions: ListExtensions = NO_EXTENSIONS;
  if (fields.nextTag === 0xa0) {
    const wrapped = fields.read(0xa0).inside();
    extensions = readListExtensions(wrapped);
    wrapped.expectEnd();
  }
  fields.expectEnd();
  return {
    ...extensions,
    issuer,
    thisUpdateMs,
    nextUpdateMs,
    serials,
    signature: { signed, algorithm, value },
    der: bytes,
    digest: yield* digestOf(bytes),
  };
}

function* scanEntries(entries: DerCursor, serials: SerialTable): Generator<void, void> {
  const { bytes } = entries;
  const entry = new DerCursor(bytes);
  while (!entries.isAtEnd) {
    entries.read(DER.sequence);
    entry.at = entries.from;
    entry.end = entries.to;
    entry.read(DER.integer);
    const length = entry.to - entry.from;
    if (length === 0 || length > MAX_SERIAL_BYTES || isPadded(bytes, entry.from, length)) {
      throw new ListProblem('has an entry whose serial number is not DER');
    }
    serials.add(entry.start);
    if (!TIMES.has(entry.nextTag)) throw new ListProblem('has an entry without a date');
    entry.read(entry.nextTag);
    if (!entry.isAtEnd) checkEntryExtensions(entry);
    entry.expectEnd();
    if (serials.count % STEP === 0) yield;
  }
}

function* digestOf(bytes: Buffer): Generator<void, string> {
  const digest = createHash('sha256');
  for (let at = 0; at < bytes.length; at += HASHED_BYTES) {
    digest.update(bytes.subarray(at, at + HASHED_BYTES));
    yield;
  }
  return digest.digest('hex');
}

/** X.690 §8.3.2. A padded number would not be found by the bytes of the certificate's. */
function isPadded(bytes: Buffer, from: number, length: number): boolean {
  if (length < 2) return false;
  const first = bytes[from] as number;
  const isNextNegative = (bytes[from + 1] as number) >= 0x80;
  return (first === 0 && !isNextNegative) || (first === 0xff && isNextNegative);
}

function bitsOf(contents: Buffer): Buffer {
  if (contents.length < 2 || contents[0] !== 0) throw new ListProblem('has a signature that is not in whole bytes');
  return contents.subarray(1);
}

/** RFC 5280 §5.1.2.4: with seconds, in UTC; two-digit years are those from 1950 to 2049. */
function readTime(fields: DerCursor): number {
  const tag = fields.nextTag;
  if (!TIMES.has(tag)) throw new ListProblem('has no date');
  const text = fields.read(tag).contents.toString('latin1');
  const digits = tag === DER.utcTime ? `${Number(text.slice(0, 2)) < 50 ? '20' : '19'}${text}` : text;
  const match = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(digits);
  const [year, month, day, hour, minute, second] = (match ?? []).slice(1);
  const ms = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  if (match === null || Number.isNaN(ms)) throw new ListProblem('has a date that cannot be read');
  return ms;
}
