/**
 * Buffers of forwarded bytes become garbage within milliseconds, but they lie outside the heap, which hardly grows. V8
 * does not collect its young generation sooner because of them, and after 32 to 64 MB of buffers it collects the whole
 * heap instead. That is twenty full collections per GB, and was half of the CPU time of a large transfer. Code that
 * forwards bytes therefore reports them, and a collection of the young generation, a hundred times cheaper, comes
 * first.
 */
const BYTES_PER_COLLECTION = 24 * 1024 * 1024;
/**
 * For agents: 0.4 to 0.6 times the CPU of a large transfer. A server has more that waits for slow readers, survives
 * frequent collections, and then takes a full one (docs/internals/decisions/0064-streams-of-tunnels.md).
 */
export const BYTES_PER_COLLECTION_OF_AGENTS = 4 * 1024 * 1024;

let passedBytes = 0;
let bytesPerCollection = BYTES_PER_COLLECTION;
let collectYoung: (() => void) | null = null;
/** Frees buffers that have survived collections of the young generation. */
let collectOld: (() => void) | null = null;
/** Readers who leave do so one after the other. */
const COLLECT_AFTER_MS = 5_000;
let leaving: NodeJS.Timeout | null = null;

/** Nothing is collected until this is called: an embedding program decides that itself. */
export function collectPassedBuffers(
  collectors: { readonly young: () => void; readonly old: () => void } | null,
  everyBytes = BYTES_PER_COLLECTION,
): void {
  passedBytes = 0;
  bytesPerCollection = everyBytes;
  collectYoung = collectors?.young ?? null;
  collectOld = collectors?.old ?? null;
}

/**
 * Reports that many megabytes of buffers that have waited for long are no longer needed. Without it they stay for minutes: only a
 * collection of the whole heap frees them, and a process that rests causes none.
 */
export function buffersLeft(): void {
  if (collectOld === null || leaving !== null) return;
  leaving = setTimeout(() => {
    leaving = null;
    collectOld?.();
  }, COLLECT_AFTER_MS).unref();
}

/** Reports that a buffer of this many bytes was received and forwarded. */
export function bufferPassed(bytes: number): void {
  passedBytes += bytes;
  if (passedBytes < bytesPerCollection) return;
  passedBytes = 0;
  collectYoung?.();
}
