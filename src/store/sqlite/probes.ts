const DEFAULT_INTERVAL_MS = 2_000;

/** Calls `probe` again and again, one at a time; what it finds it reports itself. */
export function startProbes(
  probe: () => Promise<void>,
  intervalMs: number = DEFAULT_INTERVAL_MS,
): { close(): Promise<void> } {
  let running: Promise<void> | null = null;
  const timer = setInterval(() => {
    running ??= probe()
      .catch(() => {})
      .finally(() => {
        running = null;
      });
  }, intervalMs).unref();
  return {
    close: async () => {
      clearInterval(timer);
      await running;
    },
  };
}
