import { createHash } from 'node:crypto';
import { SliceQueue, TimeSlice } from '../async/slices.ts';
import {
  checkEntryExtensions,
  type ListExtensions,
  ListProblem,
  NO_EXTENSIONS,
  readListExtensions,
} from './certificate-extensions.ts';
import { DER, DerCursor, DerProblem } from './der-cursor.ts';
import { derOf, type PemBlock, scanPem } from './pem-blocks.ts';
import { type RevocationList, SerialTable } from './revocation-list.ts';

const MAX_LISTS = 16;
/** RFC 7468 §6; some programs write the second. */
const LABELS: readonly string[] = ['X509 CRL', 'CRL'];
const QUEUE = new SliceQueue();

/** The lists in a PEM text, in one go: only for texts of limited length. Throws ListProblem. */
export function listsInPem(pem: string): readonly RevocationList[] {
  return atOnce(pemLists(pem));
}

/** The lists in a response: DER (RFC 2585) or PEM. Other work continues in between. Throws ListProblem. */
export async function listsInBytes(bytes: Buffer): Promise<readonly RevocationList[]> {
  const isPem = bytes.subarray(0, 65_536).includes('-----BEGIN');
  return isPem ? inSlices(pemLists(bytes.toString('latin1'))) : [await inSlices(scanList(bytes))];
}

function* pemLists(pem: string): Generator<void, readonly RevocationList[]> {
  const lists: RevocationList[] = [];
  for (const block of yield* listBlocks(pem)) lists.push(yield* scanList(encodedIn(block)));
  return lists;
}

function* listBlocks(pem: string): Generator<void, readonly PemBlock[]> {
  try {
    const blocks = yield* scanPem(pem, MAX_LISTS);
    if (blocks.length === 0) throw new Error('it contains no "X509 CRL" block');
    const foreign = blocks.find(({ label }) => !LABELS.includes(label))?.label.slice(0, 40);
    if (foreign !== undefined) throw new Error(`it contains a "${foreign}" block; only "X509 CRL" blocks are allowed`);
    return blocks;
  } catch (error) {
    throw notPem(error);
  }
}

function encodedIn(block: PemBlock): Buffer {
  try {
    return derOf(block);
  } catch (error) {
    throw notPem(error);
  }
}

function notPem(error: unknown): ListProblem {
  return new ListProblem(`is not a revocation list in PEM (${error instanceof Error ? error.message : 'unreadable'})`);
}

function atOnce<Result>(steps: Generator<void, Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

async function inSlices<Result>(steps: Generator<void, Result>): Promise<Result> {
  const slice = new TimeSlice(QUEUE);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (slice.isOver) await slice.next();
  }
}

/** Entries between two pauses: well below a millisecond. */
const STEP = 1024;
/** Bytes hashed between two pauses. */
const HASHED_BYTES = 524_288;
/** RFC 5280 §4.1.2.2 allows 20 bytes; some old authorities used more. */
const MAX_SERIAL_BYTES = 64;
const TIMES: ReadonlySet<number> = new Set([DER.utcTime, DER.generalizedTime]);

/** Parses a list in DER, in steps. Throws ListProblem. */
function* scanList(bytes: Buffer): Generator<void, RevocationList> {
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
