const DEFAULT_INTERVAL_MS = 2_000;

/** Calls `probe` periodically, one at a time; the probe reports its own findings. */
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
