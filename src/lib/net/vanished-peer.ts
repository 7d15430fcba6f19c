import type { Socket } from 'node:net';

const SILENT_FOR_MS = 60_000;
const PROBE_EVERY_MS = 15_000;
const PROBES = 4;

/**
 * Lets TCP ask whether the peer is still there. Linux asks after two hours by default, and until then an idle WebSocket,
 * event stream or TCP connection holds its place. A telephone in a tunnel has a minute to come back.
 */
export function noticeVanished(socket: Socket): void {
  // The types lack the last two. Without them the runtime would give up after ten seconds.
  (socket.setKeepAlive as (enable: boolean, ...probing: readonly number[]) => unknown).call(
    socket,
    true,
    SILENT_FOR_MS,
    PROBE_EVERY_MS,
    PROBES,
  );
}
