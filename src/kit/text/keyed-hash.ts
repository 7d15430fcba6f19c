const STATE = new Int32Array(4);

/**
 * HalfSipHash-2-4 with 64 bits of output, over the UTF-16 code units of a text. Who does not know the key cannot choose
 * texts that collide. For tables in memory only: 64 bits of key are too few for anything that is stored or sent.
 */
export function keyedHash(key: Int32Array, text: string, into: Int32Array): void {
  const k0 = key[0] as number;
  const k1 = key[1] as number;
  STATE[0] = k0;
  STATE[1] = k1 ^ 0xee;
  STATE[2] = k0 ^ 0x6c796765;
  STATE[3] = k1 ^ 0x74656462;
  const { length } = text;
  const paired = length - (length % 2);
  for (let at = 0; at < paired; at += 2) absorb(text.charCodeAt(at) | (text.charCodeAt(at + 1) << 16));
  absorb((length << 25) | (paired === length ? 0 : text.charCodeAt(paired)));
  STATE[2] = (STATE[2] as number) ^ 0xee;
  into[0] = output();
  STATE[1] = (STATE[1] as number) ^ 0xdd;
  into[1] = output();
}

function absorb(word: number): void {
  STATE[3] = (STATE[3] as number) ^ word;
  rounds(2);
  STATE[0] = (STATE[0] as number) ^ word;
}

function output(): number {
  rounds(4);
  return (STATE[1] as number) ^ (STATE[3] as number);
}

function rounds(count: number): void {
  let v0 = STATE[0] as number;
  let v1 = STATE[1] as number;
  let v2 = STATE[2] as number;
  let v3 = STATE[3] as number;
  for (let round = 0; round < count; round += 1) {
    v0 = (v0 + v1) | 0;
    v1 = rotated(v1, 5) ^ v0;
    v0 = rotated(v0, 16);
    v2 = (v2 + v3) | 0;
    v3 = rotated(v3, 8) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = rotated(v3, 7) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = rotated(v1, 13) ^ v2;
    v2 = rotated(v2, 16);
  }
  STATE[0] = v0;
  STATE[1] = v1;
  STATE[2] = v2;
  STATE[3] = v3;
}

function rotated(word: number, by: number): number {
  return (word << by) | (word >>> (32 - by));
}
