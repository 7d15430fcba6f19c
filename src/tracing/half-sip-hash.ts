/** HalfSipHash-2-4: rounds per word of the message, and after the last one. */
const [WORD_ROUNDS, FINAL_ROUNDS] = [2, 4];

/**
 * 32 bits from words and a secret key of 64 bits (Aumasson and Bernstein, "SipHash: a fast short-input PRF"). SHA-256 is a call
 * into OpenSSL that takes 2 µs, this takes a fraction.
 */
export function halfSipHash(words: ArrayLike<number>, low: number, high: number): number {
  let [v0, v1, v2, v3] = [low | 0, high | 0, 0x6c796765 ^ low, 0x74656462 ^ high];
  const wordRounds = (words.length + 1) * WORD_ROUNDS;
  for (let round = 0; round < wordRounds + FINAL_ROUNDS; round += 1) {
    const at = Math.floor(round / WORD_ROUNDS);
    // The word after the last has the number of bytes in its upper byte.
    const word = at === words.length ? words.length << 26 : (words[at] ?? 0);
    if (round < wordRounds && round % WORD_ROUNDS === 0) v3 ^= word;
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
    if (round < wordRounds && round % WORD_ROUNDS === 1) v0 ^= word;
    if (round === wordRounds - 1) v2 ^= 0xff;
  }
  return (v1 ^ v3) >>> 0;
}
