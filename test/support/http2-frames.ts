/** Frames of RFC 9113 as bytes, for peers that violate it. */
export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  push: 5,
  ping: 6,
  goaway: 7,
  window: 8,
  continuation: 9,
};

export const FLAG = { endStream: 1, ack: 1, endHeaders: 4, padded: 8, priority: 32 };

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

export function frame(type: number, flags: number, stream: number, payload: Buffer | string = ''): Buffer {
  const body = Buffer.from(payload as string);
  const head = Buffer.alloc(9);
  head.writeUIntBE(body.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, body]);
}

export const SETTINGS = frame(FRAME.settings, 0, 0);
export const SETTINGS_ACK = frame(FRAME.settings, 1, 0);
/** `:status: 200` of HPACK's static table. */
export const STATUS_200 = Buffer.from([0x88]);

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
}

export function resetFrame(stream: number, code: number): Buffer {
  return frame(FRAME.reset, 0, stream, uint32(code));
}

export function goawayFrame(lastStream: number, code: number): Buffer {
  return frame(FRAME.goaway, 0, 0, Buffer.concat([uint32(lastStream), uint32(code)]));
}

/** Each pair as a literal without indexing and without Huffman coding (RFC 7541 §6.2.2), whatever it contains. */
export function headerBlock(fields: readonly (readonly [string, string])[]): Buffer {
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0]), literal(name), literal(value)]));
}

/** RFC 7541 §5.1, with a prefix of seven bits. */
function literal(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  const length = [127];
  let rest = bytes.length - 127;
  for (; rest >= 128; rest >>>= 7) length.push((rest & 127) | 128);
  return Buffer.concat([Buffer.from([...length, rest]), bytes]);
}
