import { createHmac, timingSafeEqual } from 'node:crypto';
import { CLASS, type ReadMessage, readName, TYPE, uint16, writeName, writeRecord } from './dns-messages.ts';

export const TSIG_ALGORITHMS = ['hmac-sha256', 'hmac-sha512'] as const;
export type TsigAlgorithm = (typeof TSIG_ALGORITHMS)[number];

export interface TsigKey {
  readonly name: string;
  readonly algorithm: TsigAlgorithm;
  readonly secret: Buffer;
}

/** Errors of the TSIG record: RFC 8945 §3. */
export type TsigVerdict = 'valid' | 'BADSIG' | 'BADKEY' | 'BADTIME' | 'missing';

const ERRORS: Readonly<Record<number, TsigVerdict>> = { 16: 'BADSIG', 17: 'BADKEY', 18: 'BADTIME' };
/** Seconds that clocks may differ: RFC 8945 §10. */
const FUDGE = 300;

export interface SignedMessage {
  readonly bytes: Buffer;
  readonly mac: Buffer;
}

/** Signs a message that has no TSIG record (RFC 8945 §4.3.3). */
export function signMessage(message: Buffer, key: TsigKey, nowMs: number): SignedMessage {
  const time = timeBytes(Math.floor(nowMs / 1000));
  const mac = hmac(key)
    .update(message)
    .update(variables(key, time, FUDGE, 0, Buffer.alloc(0)))
    .digest();
  const data = Buffer.concat([
    writeName(key.algorithm),
    time,
    uint16(FUDGE),
    uint16(mac.length),
    mac,
    message.subarray(0, 2),
    uint16(0),
    uint16(0),
  ]);
  const record = writeRecord({ name: key.name, type: TYPE.TSIG, class: CLASS.ANY, ttl: 0, data });
  const bytes = Buffer.concat([message, record]);
  bytes.writeUInt16BE(message.readUInt16BE(10) + 1, 10);
  return { bytes, mac };
}

/** Whether the response was signed with the key, for the request with this MAC (RFC 8945 §5.3). */
export function verifyResponse(
  bytes: Buffer,
  { additional }: ReadMessage,
  key: TsigKey,
  { requestMac, nowMs }: { readonly requestMac: Buffer; readonly nowMs: number },
): TsigVerdict {
  const record = additional.at(-1);
  if (record?.type !== TYPE.TSIG || record.class !== CLASS.ANY) return 'missing';
  const tsig = readTsig(record.data);
  if (tsig === null) return 'BADSIG';
  // A server that does not know the key cannot sign its answer.
  if (tsig.error !== 0 && tsig.mac.length === 0) return ERRORS[tsig.error] ?? 'BADSIG';
  if (record.name !== key.name.toLowerCase() || tsig.algorithm !== key.algorithm) return 'BADKEY';
  const unsigned = Buffer.from(bytes.subarray(0, record.start));
  unsigned.writeUInt16BE(unsigned.readUInt16BE(10) - 1, 10);
  tsig.originalId.copy(unsigned, 0);
  const expected = hmac(key)
    .update(uint16(requestMac.length))
    .update(requestMac)
    .update(unsigned)
    .update(variables(key, tsig.time, tsig.fudge, tsig.error, tsig.other))
    .digest();
  if (expected.length !== tsig.mac.length || !timingSafeEqual(expected, tsig.mac)) return 'BADSIG';
  if (tsig.error !== 0) return ERRORS[tsig.error] ?? 'BADSIG';
  const seconds = tsig.time.readUIntBE(0, 6);
  return Math.abs(nowMs / 1000 - seconds) > tsig.fudge ? 'BADTIME' : 'valid';
}

interface TsigData {
  readonly algorithm: string;
  readonly time: Buffer;
  readonly fudge: number;
  readonly mac: Buffer;
  readonly originalId: Buffer;
  readonly error: number;
  readonly other: Buffer;
}

function readTsig(data: Buffer): TsigData | null {
  try {
    const { name, end } = readName(data, 0);
    const macEnd = end + 10 + data.readUInt16BE(end + 8);
    const otherLength = data.readUInt16BE(macEnd + 4);
    if (macEnd + 6 + otherLength !== data.length) return null;
    return {
      algorithm: name,
      time: data.subarray(end, end + 6),
      fudge: data.readUInt16BE(end + 6),
      mac: data.subarray(end + 10, macEnd),
      originalId: data.subarray(macEnd, macEnd + 2),
      error: data.readUInt16BE(macEnd + 2),
      other: data.subarray(macEnd + 6),
    };
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function variables(key: TsigKey, time: Buffer, fudge: number, error: number, other: Buffer): Buffer {
  return Buffer.concat([
    writeName(key.name),
    uint16(CLASS.ANY),
    Buffer.alloc(4),
    writeName(key.algorithm),
    time,
    uint16(fudge),
    uint16(error),
    uint16(other.length),
    other,
  ]);
}

function hmac({ algorithm, secret }: TsigKey): ReturnType<typeof createHmac> {
  return createHmac(algorithm.slice('hmac-'.length), secret);
}

function timeBytes(seconds: number): Buffer {
  const bytes = Buffer.alloc(6);
  bytes.writeUIntBE(seconds, 0, 6);
  return bytes;
}
