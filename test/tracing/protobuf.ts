/** A message of protobuf: the values of each field, by its number. Numbers of 64 bits are bigints. */
export type Message = ReadonlyMap<number, readonly (bigint | Buffer)[]>;

const [VARINT, FIXED64, BYTES, FIXED32] = [0, 1, 2, 5];

/** As the encoding of protobuf says. It knows no schema: its user knows the types of the fields. */
export function readMessage(bytes: Buffer): Message {
  const fields = new Map<number, (bigint | Buffer)[]>();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes.readUInt8(at);
      at += 1;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw new Error('the message is cut off');
    at += length;
    return bytes.subarray(at - length, at);
  };
  const valueOfType = (type: number): bigint | Buffer => {
    if (type === VARINT) return varint();
    if (type === FIXED64) return take(8).readBigUInt64LE();
    if (type === FIXED32) return BigInt(take(4).readUInt32LE());
    if (type === BYTES) return take(Number(varint()));
    throw new Error(`wire type ${type}`);
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const values = fields.get(tag >> 3) ?? [];
    fields.set(tag >> 3, [...values, valueOfType(tag & 7)]);
  }
  return fields;
}

export function messages(message: Message | undefined, field: number): readonly Message[] {
  return (message?.get(field) ?? []).map((value) => readMessage(value as Buffer));
}

/** The last one counts. */
export function bytesOf(message: Message | undefined, field: number): Buffer {
  return (message?.get(field)?.at(-1) ?? Buffer.alloc(0)) as Buffer;
}

export function numberOf(message: Message | undefined, field: number): bigint {
  return (message?.get(field)?.at(-1) ?? 0n) as bigint;
}
