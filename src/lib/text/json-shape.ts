const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPENING: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d]);

export interface JsonLimits {
  readonly maxValues: number;
  readonly maxDepth: number;
}

/**
 * Which limit a JSON text exceeds; null: none. It reads the bytes once, before anything is built of them: parsing and
 * checking 100,000 values takes a hundred times as long. A text that is not JSON gets any answer.
 */
export function exceededLimit(bytes: Uint8Array, { maxValues, maxDepth }: JsonLimits): keyof JsonLimits | null {
  let values = 1;
  let depth = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    if (byte === QUOTE) {
      at += 1;
      while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
    } else if (byte === COMMA) {
      values += 1;
      if (values > maxValues) return 'maxValues';
    } else if (OPENING.has(byte)) {
      depth += 1;
      values += 1;
      if (depth > maxDepth) return 'maxDepth';
      if (values > maxValues) return 'maxValues';
    } else if (CLOSING.has(byte)) depth -= 1;
  }
  return null;
}
