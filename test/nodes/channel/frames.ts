/** Frames written by hand, so that the tests do not share the program's mistakes. */

export const REQUEST = 1;
export const INFORMATIONAL = 2;
export const RESPONSE = 3;
export const DATA = 4;
export const END = 5;
export const RESET = 6;
export const CREDIT = 7;

export function frame(type: number, id: number, payload: string | Buffer = ''): Buffer {
  const bytes = Buffer.from(payload as string, 'latin1');
  const header = Buffer.alloc(10);
  header.writeUIntBE(bytes.length, 0, 3);
  header.writeUInt8(type, 3);
  header.writeUIntBE(id, 4, 6);
  return Buffer.concat([header, bytes]);
}

export function head(type: number, id: number, number: number, lines: readonly string[]): Buffer {
  const prefix = Buffer.alloc(2);
  prefix.writeUInt16BE(number);
  return frame(type, id, Buffer.concat([prefix, Buffer.from(lines.join('\n'), 'latin1')]));
}

export function number(type: number, id: number, value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return frame(type, id, bytes);
}

const LINES = [':method', 'POST', ':scheme', 'https', ':authority', 'a.example', ':path', '/', 'postern-tunnel'];

/** `flags`: 1 has a body, 2 may have trailers. */
export function request(id: number, flags = 0, tunnel = 'tn_1', more: readonly string[] = []): Buffer {
  return head(REQUEST, id, flags, [...LINES, tunnel, ...more]);
}

export interface ReadFrame {
  readonly type: number;
  readonly id: number;
  readonly payload: Buffer;
}

/** Complete frames at the start of `bytes`. */
export function framesIn(bytes: Buffer): ReadFrame[] {
  const frames: ReadFrame[] = [];
  let at = 0;
  while (at + 10 <= bytes.length) {
    const end = at + 10 + bytes.readUIntBE(at, 3);
    if (end > bytes.length) break;
    frames.push({
      type: bytes.readUInt8(at + 3),
      id: bytes.readUIntBE(at + 4, 6),
      payload: bytes.subarray(at + 10, end),
    });
    at = end;
  }
  return frames;
}
