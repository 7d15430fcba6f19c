/**
 * Buffers of forwarded bytes become garbage within milliseconds, but they lie outside the heap, which hardly grows. V8
 * does not collect its young generation sooner because of them, and after 32 to 64 MB of buffers it collects the whole
 * heap instead. That is twenty full collections per GB, and was half of the CPU time of a large transfer. Code that
 * forwards bytes therefore reports them, and a collection of the young generation, a hundred times cheaper, comes
 * first.
 */
const BYTES_PER_COLLECTION = 24 * 1024 * 1024;

let passedBytes = 0;
let collectYoung: (() => void) | null = null;

/** Nothing is collected until this is called: an embedding program decides that itself. */
export function collectPassedBuffers(collector: (() => void) | null): void {
  passedBytes = 0;
  collectYoung = collector;
}

/** Reports that a buffer of this many bytes was received and forwarded. */
export function bufferPassed(bytes: number): void {
  passedBytes += bytes;
  if (passedBytes < BYTES_PER_COLLECTION) return;
  passedBytes = 0;
  collectYoung?.();
}
