/** Types, classes and operations of DNS messages: RFC 1035 §3.2, RFC 2136 §1.3, RFC 8945 §4.2. */
export const TYPE = { A: 1, SOA: 6, TXT: 16, TSIG: 250 } as const;
export const CLASS = { IN: 1, NONE: 254, ANY: 255 } as const;
export const OPERATION = { QUERY: 0, UPDATE: 5 } as const;

const OPERATION_SHIFT = 11;

interface WrittenRecord {
  readonly name: string;
  readonly type: number;
  readonly class: number;
  readonly ttl: number;
  readonly data: Buffer;
}

export interface WrittenMessage {
  readonly id: number;
  readonly operation: number;
  /** The question, or the zone of an update. */
  readonly question: { readonly name: string; readonly type: number };
  /** The changes of an update. */
  readonly updates?: readonly WrittenRecord[];
}

/** Without recursion and without compressed names, which TSIG does not allow in its own record. */
export function writeMessage({ id, operation, question, updates = [] }: WrittenMessage): Buffer {
  const head = Buffer.alloc(12);
  head.writeUInt16BE(id, 0);
  head.writeUInt16BE(operation << OPERATION_SHIFT, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(updates.length, 8);
  const asked = Buffer.concat([writeName(question.name), uint16(question.type), uint16(CLASS.IN)]);
  return Buffer.concat([head, asked, ...updates.map(writeRecord)]);
}

export function writeRecord({ name, type, class: recordClass, ttl, data }: WrittenRecord): Buffer {
  const fixed = [uint16(type), uint16(recordClass), uint32(ttl), uint16(data.length)];
  return Buffer.concat([writeName(name), ...fixed, data]);
}

export function writeName(name: string): Buffer {
  const labels = name === '' ? [] : name.toLowerCase().split('.');
  const parts = labels.map((label) => {
    if (label.length === 0 || label.length > 63 || /[^\x21-\x7e]/.test(label)) throw new Error('not a DNS name');
    return Buffer.concat([Buffer.from([label.length]), Buffer.from(label, 'latin1')]);
  });
  return Buffer.concat([...parts, Buffer.from([0])]);
}

/** One text of a TXT record: at most 255 bytes. */
export function writeText(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  if (bytes.length > 255) throw new Error('a text of DNS has at most 255 bytes');
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
}

export function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** A record as it was received. */
interface ReadRecord {
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
