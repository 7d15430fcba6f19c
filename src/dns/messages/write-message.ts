/** Types, classes and operations of DNS messages: RFC 1035 §3.2, RFC 2136 §1.3, RFC 8945 §4.2. */
export const TYPE = { A: 1, SOA: 6, TXT: 16, TSIG: 250 } as const;
export const CLASS = { IN: 1, NONE: 254, ANY: 255 } as const;
export const OPERATION = { QUERY: 0, UPDATE: 5 } as const;

const OPERATION_SHIFT = 11;

export interface WrittenRecord {
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
