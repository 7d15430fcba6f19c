import { randomFillSync } from 'node:crypto';

/**
 * 27-character base62 KSUIDs: 4 bytes of seconds since the KSUID epoch, then 16 bytes of payload.
 * Ours puts a 1/65536 s fraction into the payload's first two bytes, so that "newest first" holds within a second,
 * and never goes backwards inside one process; the other 14 bytes are random.
 */
const EPOCH_SECONDS = 1_400_000_000;
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const TEXT_LENGTH = 27;
const RANDOM_POOL_BYTES = 14 * 512;

export const KSUID_PATTERN = '[0-9A-Za-z]{27}';

type KsuidSource = (nowMs: number) => string;

export function createKsuidSource(): KsuidSource {
  const pool = new Uint8Array(RANDOM_POOL_BYTES);
  let poolOffset = RANDOM_POOL_BYTES;
  // The last 48-bit tick issued (32 bits of seconds, 16 of fraction).
  let lastTick = 0;
  return (nowMs) => {
    const tick = Math.max(Math.floor(((nowMs - EPOCH_SECONDS * 1000) / 1000) * 65_536), lastTick + 1);
    lastTick = tick;
    if (poolOffset === RANDOM_POOL_BYTES) {
      randomFillSync(pool);
      poolOffset = 0;
    }
    const seconds = Math.floor(tick / 65_536);
    const words = [seconds, 0, 0, 0, 0];
    words[1] = (((tick % 65_536) << 16) | (byte(pool, poolOffset) << 8) | byte(pool, poolOffset + 1)) >>> 0;
    for (let word = 2; word < 5; word += 1) words[word] = word32(pool, poolOffset + 2 + (word - 2) * 4);
    poolOffset += 14;
    return base62(words);
  };
}

function byte(bytes: Uint8Array, offset: number): number {
  return bytes[offset] ?? 0;
}

function word32(bytes: Uint8Array, at: number): number {
  return (
    ((byte(bytes, at) << 24) | (byte(bytes, at + 1) << 16) | (byte(bytes, at + 2) << 8) | byte(bytes, at + 3)) >>> 0
  );
}

/** Long division of a 160-bit big-endian number by 62^5 at a time: a BigInt costs several times as much. */
function base62(words: number[]): string {
  const CHUNK = 62 ** 5;
  let text = '';
  while (text.length < TEXT_LENGTH) {
    let remainder = 0;
    for (let i = 0; i < 5; i += 1) {
      // remainder < 62^5 < 2^30, so the 62-bit intermediate must be split in two 16-bit steps to stay exact.
      const word = words[i] ?? 0;
      const high = remainder * 65_536 + (word >>> 16);
      const quotientHigh = Math.floor(high / CHUNK);
      const low = (high - quotientHigh * CHUNK) * 65_536 + (word & 0xffff);
      const quotientLow = Math.floor(low / CHUNK);
      remainder = low - quotientLow * CHUNK;
      words[i] = quotientHigh * 65_536 + quotientLow;
    }
    for (let digit = 0; digit < 5 && text.length < TEXT_LENGTH; digit += 1) {
      text = ALPHABET.charAt(remainder % 62) + text;
      remainder = Math.floor(remainder / 62);
    }
  }
  return text;
}

const PAIRS = Array.from(ALPHABET, (first) => Array.from(ALPHABET, (second) => first + second)).flat();
const SUFFIX_LENGTH = 4;

/**
 * Sortable ids for frequent objects such as requests. All ids of one millisecond share a KSUID, and its last four
 * characters count them: a KSUID each cost 3 % of a request. About 90 random bits remain.
 */
export function createDenseIds(prefix: string): (nowMs: number) => string {
  const ksuid = createKsuidSource();
  let shared = '';
  let sharedMs = -1;
  let count = 0;
  return (nowMs) => {
    if (nowMs !== sharedMs || count === PAIRS.length ** 2) {
      shared = `${prefix}_${ksuid(nowMs).slice(0, -SUFFIX_LENGTH)}`;
      sharedMs = nowMs;
      count = 0;
    }
    const high = PAIRS[Math.floor(count / PAIRS.length)] as string;
    const low = PAIRS[count % PAIRS.length] as string;
    count += 1;
    return shared + high + low;
  };
}
