import {
  type BrotliDecompress,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
  type Gunzip,
  type Inflate,
  type InflateRaw,
  type ZstdDecompress,
} from 'node:zlib';
import { attach, guarded, type ListenerOwner, listen, listenOnce } from '../../lib/guarded-listeners.ts';

type Decoder = BrotliDecompress | Gunzip | Inflate | InflateRaw | ZstdDecompress;

const DECODERS: Readonly<Record<string, (bytes: Buffer) => Decoder>> = {
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  br: () => createBrotliDecompress(),
  zstd: () => createZstdDecompress(),
  // Many senders omit the zlib wrapper that RFC 9110 §8.4.1.2 requires. The first byte tells the two forms apart.
  deflate: (bytes) => (((bytes[0] ?? 0) & 0x0f) === 8 ? createInflate() : createInflateRaw()),
};
const MAX_CODINGS = 3;

export interface DecodedBody {
  readonly bytes: Buffer;
  /** Null when the body was not encoded. */
  readonly encoding: string | null;
  /** Whether `bytes` are the decoded body, and not the body as received. */
  readonly isDecoded: boolean;
  /** Why `bytes` are incomplete or not decoded. */
  readonly problem: string | null;
}

/**
 * Decodes as much of a body as possible, at most `maxBytes`: the body may be truncated, corrupt, or a decompression
 * bomb.
 */
export async function decodeBody(bytes: Buffer, contentEncoding: string, maxBytes: number): Promise<DecodedBody> {
  const codings = contentEncoding
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity');
  if (codings.length === 0 || bytes.length === 0) return { bytes, encoding: null, isDecoded: false, problem: null };
  const encoding = codings.join(', ');
  const unknown = codings.find((coding) => !Object.hasOwn(DECODERS, coding));
  if (unknown !== undefined || codings.length > MAX_CODINGS) {
    return { bytes, encoding, isDecoded: false, problem: `the encoding ${encoding} is not supported` };
  }
  let decoded = bytes;
  let problem: string | null = null;
  for (const coding of codings.reverse()) {
    const step = await decodeOnce(decoded, coding, maxBytes);
    problem ??= step.problem;
    decoded = step.bytes;
  }
  if (decoded.length === 0 && problem !== null) return { bytes, encoding, isDecoded: false, problem };
  return { bytes: decoded, encoding, isDecoded: true, problem };
}

function decodeOnce(
  bytes: Buffer,
  coding: string,
  maxBytes: number,
): Promise<{ readonly bytes: Buffer; readonly problem: string | null }> {
  const decoder = (DECODERS[coding] as (bytes: Buffer) => Decoder)(bytes);
  const chunks: Buffer[] = [];
  let length = 0;
  return new Promise((resolve) => {
    const finish = (problem: string | null): void => {
      decoder.off('data', onData);
      decoder.destroy();
      resolve({ bytes: Buffer.concat(chunks).subarray(0, maxBytes), problem });
    };
    const owner: ListenerOwner = { contain: (error) => finish(`${coding}: ${String(error)}`) };
    const onData = guarded(owner, (chunk: Buffer): void => {
      chunks.push(chunk);
      length += chunk.length;
      if (length > maxBytes) finish(`only the first ${maxBytes} bytes after decoding`);
    });
    attach(decoder, 'data', onData);
    listenOnce(decoder, 'end', owner, () => finish(null));
    listen(decoder, 'error', owner, (error: Error) => finish(`${coding}: ${error.message}`));
    // Flushed, so that a truncated body yields what it can before its missing end is noticed.
    decoder.write(bytes);
    decoder.flush(() => decoder.end());
  });
}
