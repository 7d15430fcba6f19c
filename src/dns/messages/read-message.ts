/** A record as it was received. */
export interface ReadRecord {
  readonly name: string;
  readonly type: number;
  readonly class: number;
  /** Where it begins in the message. */
  readonly start: number;
  readonly data: Buffer;
}

export interface ReadMessage {
  readonly id: number;
  readonly isResponse: boolean;
  readonly isAuthoritative: boolean;
  readonly isTruncated: boolean;
  /** Response code: 0 is success. */
  readonly code: number;
  readonly question: { readonly name: string; readonly type: number } | null;
  readonly answers: readonly ReadRecord[];
  readonly additional: readonly ReadRecord[];
}

const MAX_RECORDS = 500;
const MAX_NAME = 255;

/** Null for anything that is not a whole message of DNS. */
export function readMessage(bytes: Buffer): ReadMessage | null {
  try {
    return readWhole(bytes);
  } catch (error) {
    // Reading beyond the end.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function readWhole(bytes: Buffer): ReadMessage {
  const flags = bytes.readUInt16BE(2);
  const [questions, answers, authorities, additional] = [4, 6, 8, 10].map((offset) => bytes.readUInt16BE(offset)) as [
    number,
    number,
    number,
    number,
  ];
  if (questions > 1 || answers + authorities + additional > MAX_RECORDS) throw new RangeError('too many records');
  let offset = 12;
  let question: ReadMessage['question'] = null;
  if (questions === 1) {
    const { name, end } = readName(bytes, offset);
    question = { name, type: bytes.readUInt16BE(end) };
    offset = end + 4;
  }
  const records: ReadRecord[] = [];
  for (let count = answers + authorities + additional; count > 0; count -= 1) {
    const { name, end } = readName(bytes, offset);
    const length = bytes.readUInt16BE(end + 8);
    const [start, dataStart] = [offset, end + 10];
    offset = dataStart + length;
    if (offset > bytes.length) throw new RangeError('a record ends after the message');
    const [type, recordClass] = [bytes.readUInt16BE(end), bytes.readUInt16BE(end + 2)];
    records.push({ name, type, class: recordClass, start, data: bytes.subarray(dataStart, offset) });
  }
  return {
    id: bytes.readUInt16BE(0),
    isResponse: (flags & 0x8000) !== 0,
    isAuthoritative: (flags & 0x0400) !== 0,
    isTruncated: (flags & 0x0200) !== 0,
    code: flags & 0x000f,
    question,
    answers: records.slice(0, answers),
    additional: records.slice(answers + authorities),
  };
}

/** A name may continue elsewhere (RFC 1035 §4.1.4). Pointers only lead back, so that reading ends. */
export function readName(bytes: Buffer, start: number): { readonly name: string; readonly end: number } {
  const labels: string[] = [];
  let offset = start;
  let end: number | null = null;
  let earliest = start;
  let size = 0;
  for (;;) {
    const length = bytes.readUInt8(offset);
    if (length === 0) return { name: labels.join('.').toLowerCase(), end: end ?? offset + 1 };
    if (length >= 0xc0) {
      const target = bytes.readUInt16BE(offset) & 0x3fff;
      end ??= offset + 2;
      if (target >= earliest) throw new RangeError('a pointer leads forward');
      earliest = target;
      offset = target;
      continue;
    }
    size += length + 1;
    if (length > 63 || size > MAX_NAME || offset + 1 + length > bytes.length) throw new RangeError('not a name');
    labels.push(bytes.toString('latin1', offset + 1, offset + 1 + length));
    offset += 1 + length;
  }
}

/** The texts of a TXT record as one. */
export function readTexts(data: Buffer): string | null {
  const parts: string[] = [];
  for (let offset = 0; offset < data.length; ) {
    const end = offset + 1 + (data[offset] as number);
    if (end > data.length) return null;
    parts.push(data.toString('latin1', offset + 1, end));
    offset = end;
  }
  return parts.join('');
}
