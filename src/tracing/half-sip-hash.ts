/** HalfSipHash-2-4: rounds per word of the message, and after the last one. */
const [WORD_ROUNDS, FINAL_ROUNDS] = [2, 4];

/**
 * 32 bits from words and a secret key of 64 bits (Aumasson and Bernstein, "SipHash: a fast short-input PRF"). SHA-256 is a call
 * into OpenSSL that takes 2 µs, this takes a fraction.
 */
export function halfSipHash(words: ArrayLike<number>, low: number, high: number): number {
  let [v0, v1, v2, v3] = [low | 0, high | 0, 0x6c796765 ^ low, 0x74656462 ^ high];
  for (let at = 0; at <= words.length + 1; at += 1) {
    const isFinal = at > words.length;
    // The word after the last has the number of bytes in its upper byte.
    const word = isFinal ? 0 : at === words.length ? words.length << 26 : (words[at] as number);
    v3 ^= word;
    if (isFinal) v2 ^= 0xff;
    for (let round = isFinal ? FINAL_ROUNDS : WORD_ROUNDS; round > 0; round -= 1) {
      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
    }
    v0 ^= word;
  }
  return (v1 ^ v3) >>> 0;
}
