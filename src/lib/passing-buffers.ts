/**
 * Buffers of bytes that pass are garbage within milliseconds, but they lie outside the heap, which hardly grows by them: V8 does not
 * collect its young objects sooner for their sake, and when 32 to 64 MB of buffers have gathered it collects the whole heap instead.
 * That is twenty full collections per GB, and was half of the CPU time of a large transfer. So whoever carries bytes tells, and
 * a collection of the young objects, a hundred times cheaper, comes first.
 */
const BYTES_PER_COLLECTION = 24 * 1024 * 1024;

let passedBytes = 0;
let collectYoung: (() => void) | null = null;

/** Until this is called nothing is collected: in somebody else's program that is not for us to decide. */
export function collectPassedBuffers(collector: (() => void) | null): void {
  passedBytes = 0;
  collectYoung = collector;
}

/** A buffer of so many bytes was received and is given on. */
export function bufferPassed(bytes: number): void {
  passedBytes += bytes;
  if (passedBytes < BYTES_PER_COLLECTION) return;
  passedBytes = 0;
  collectYoung?.();
}
