/** HTTP/2 frames by hand (RFC 9113 §4.1, §6): the runtime's client would refuse to send most of these. */
export const DATA = 0;
export const HEADERS = 1;
export const PRIORITY = 2;
export const RST_STREAM = 3;
export const SETTINGS = 4;
export const PING = 6;
export const GOAWAY = 7;
export const WINDOW_UPDATE = 8;
export const CONTINUATION = 9;

export const ACK = 0x1;
export const END_STREAM = 0x1;
export const END_HEADERS = 0x4;

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
export const NOTHING = Buffer.alloc(0);

export function frame(type: number, flags: number, stream: number, payload: Buffer = NOTHING): Buffer {
  const bytes = Buffer.allocUnsafe(9 + payload.length);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes.writeUInt8(type, 3);
  bytes.writeUInt8(flags, 4);
  bytes.writeUInt32BE(stream, 5);
  payload.copy(bytes, 9);
  return bytes;
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** RFC 9113 §6.5.1. */
export function setting(id: number, value: number): Buffer {
  const bytes = Buffer.allocUnsafe(6);
  bytes.writeUInt16BE(id, 0);
  bytes.writeUInt32BE(value, 2);
  return bytes;
}

/** Ids of settings, RFC 9113 §6.5.2. */
export const INITIAL_WINDOW_SIZE = 4;

export function reset(stream: number, code = 8): Buffer {
  return frame(RST_STREAM, 0, stream, uint32(code));
}

export function windowUpdate(stream: number, bytes: number): Buffer {
  return frame(WINDOW_UPDATE, 0, stream, uint32(bytes));
}

/** RFC 7541 §6.2.2: a literal without indexing and without Huffman coding. */
export function literal(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.from([0]), text(name), text(value)]);
}

/** RFC 7541 §6.2.1: a literal added to the dynamic table, where the newest entry is number 62. */
export function indexedLiteral(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.from([0x40]), text(name), text(value)]);
}

/** RFC 7541 §6.1: one byte that represents a whole header. */
export const NEWEST_ENTRY = Buffer.from([0x80 | 62]);

export function headerBlock(host: string, path = '/', method = 'GET'): Buffer {
  return Buffer.concat([
    literal(':method', method),
    literal(':scheme', 'https'),
    literal(':authority', host),
    literal(':path', path),
  ]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1');
  return Buffer.concat([integer(bytes.length, 7), bytes]);
}

/** RFC 7541 §5.1, with all other bits 0. */
function integer(value: number, prefixBits: number): Buffer {
  const most = 2 ** prefixBits - 1;
  if (value < most) return Buffer.from([value]);
  const bytes = [most];
  let rest = value - most;
  while (rest >= 128) {
    bytes.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  return Buffer.from([...bytes, rest]);
}
