import { createServer } from 'node:net';
import { isMainThread } from 'node:worker_threads';

/** Loaded into a server with `--import`. Each connection to the socket gets the turns since the one before. */
export interface Turns {
  readonly longestMs: number;
  /** Sum of all turns that did something. */
  readonly totalMs: number;
}

export const PROBE_SOCKET = 'BENCH_TURN_SOCKET';
/** Less is the probe itself: it keeps the event loop turning. */
const BUSY_MS = 0.2;

const path = process.env[PROBE_SOCKET];
if (path !== undefined && isMainThread) serveTurns(path);

/** CPU time of the main thread, turn by turn: what other work on the machine takes does not count. */
function serveTurns(socket: string): void {
  let [lastMs, longestMs, totalMs] = [cpuMs(), 0, 0];
  const tick = (): void => {
    const turnMs = cpuMs() - lastMs;
    lastMs += turnMs;
    if (turnMs > BUSY_MS) {
      longestMs = Math.max(longestMs, turnMs);
      totalMs += turnMs;
    }
    setImmediate(tick).unref();
  };
  tick();
  createServer((connection) => {
    connection.end(JSON.stringify({ longestMs, totalMs } satisfies Turns));
    [longestMs, totalMs] = [0, 0];
  })
    .listen(socket)
    .unref();
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
