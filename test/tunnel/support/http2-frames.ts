/** Frames of RFC 9113 as bytes, for ends that do not keep to it. */
export const FRAME = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  push: 5,
  ping: 6,
  goaway: 7,
  window: 8,
  continuation: 9,
};

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
