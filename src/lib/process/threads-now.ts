/** Milliseconds of a clock that is the same in all threads, unlike `performance.now`, and that nobody sets. */
export function threadsNowMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
