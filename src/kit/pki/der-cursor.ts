/** The bytes are not DER, or not the expected element. */
export class DerProblem extends Error {}

export const DER = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

/**
 * Walks DER elements without copying or creating objects. The ASN.1 library builds an object for every element: a list
 * of 200,000 entries took it seconds and hundreds of megabytes.
 */
export class DerCursor {
  readonly bytes: Buffer;
  /** Where the next element starts. */
  at: number;
  end: number;
  /** The element that was read last: its first byte, and its contents. */
  tag = -1;
  start = 0;
  from = 0;
  to = 0;

  constructor(bytes: Buffer, at = 0, end = bytes.length) {
    this.bytes = bytes;
    this.at = at;
    this.end = end;
  }

  get isAtEnd(): boolean {
    return this.at >= this.end;
  }

  /** Tag of the next element; -1 at the end. */
  get nextTag(): number {
    return this.at < this.end ? (this.bytes[this.at] as number) : -1;
  }

  /** Reads one element, and moves behind it. */
  read(expected: number): this {
    const { bytes, end } = this;
    const start = this.at;
    if (end - start < 2) throw new DerProblem('ends early');
    const tag = bytes[start] as number;
    if (tag !== expected) throw new DerProblem(`has an element of type ${tag} instead of ${expected}`);
    let length = bytes[start + 1] as number;
    let from = start + 2;
    if (length >= 0x80) {
      const size = length - 0x80;
      // X.690 §10.1: definite form, with the fewest octets.
      if (size === 0 || size > 4 || end - from < size) throw new DerProblem('has a length that is not DER');
      length = bytes.readUIntBE(from, size);
      if (length < 0x80 || (size > 1 && length < 2 ** (8 * (size - 1)))) {
        throw new DerProblem('has a length that is not DER');
      }
      from += size;
    }
    if (length > end - from) throw new DerProblem('ends early');
    this.tag = tag;
    this.start = start;
    this.from = from;
    this.to = from + length;
    this.at = this.to;
    return this;
  }

  /** The element that was read last, with its header. */
  get element(): Buffer {
    return this.bytes.subarray(this.start, this.to);
  }

  get contents(): Buffer {
    return this.bytes.subarray(this.from, this.to);
  }

  /** Walks the contents of the element that was read last. */
  inside(): DerCursor {
    return new DerCursor(this.bytes, this.from, this.to);
  }

  expectEnd(): void {
    if (!this.isAtEnd) throw new DerProblem('has bytes after its end');
  }
}

/** A stranger's certificate may have one of 100 KB; real ones have at most some 20 bytes. */
const MAX_HEX = 128;

/** An OID in its usual form, from the contents of its DER element in hex. */
export function dottedOid(hex: string): string {
  const [first = 0, ...rest] = Buffer.from(hex.slice(0, MAX_HEX), 'hex');
  const arcs = [Math.min(Math.floor(first / 40), 2), first - 40 * Math.min(Math.floor(first / 40), 2)];
  let arc = 0;
  for (const byte of rest) {
    arc = (arc % 2 ** 40) * 128 + (byte & 0x7f);
    if (byte < 0x80) {
      arcs.push(arc);
      arc = 0;
    }
  }
  return arcs.slice(0, 20).join('.');
}
