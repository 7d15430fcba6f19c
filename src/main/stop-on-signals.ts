import type { RunningServer } from './server.ts';

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
/** Ctrl-C reaches us twice when a launcher runs us: from the terminal, and passed on by the launcher. */
const SAME_SIGNAL_MS = 250;

/** Resolves once a signal came and the server has closed. Another signal ends the process at once. */
export async function stopOnSignals(server: RunningServer): Promise<void> {
  await new Promise<void>((resolve) => {
    let firstMs: number | null = null;
    const onSignal = (signal: NodeJS.Signals) => {
      if (firstMs === null) {
        firstMs = performance.now();
        server.log.logger.info({ signal }, 'stopping');
        resolve();
        return;
      }
      if (performance.now() - firstMs < SAME_SIGNAL_MS) return;
      server.log.logger.warn({ signal }, 'stopping at once, requests in flight are cut off');
      server.log.flush();
      process.exit(1);
    };
    for (const signal of SIGNALS) process.on(signal, onSignal);
  });
  await server.close();
}
