import type { AgentFigures } from '../telemetry/live/tunnel-figures.ts';
import type { LocalConnection } from './local-connection.ts';

interface ConnectedSession {
  readonly id: string;
  readonly local: readonly LocalConnection[];
}

/** Pings take a moment of this process; the other connections have their turn later. */
const MAX_PINGS = 200;

/**
 * Also measures the round trips for the next call: connections that carry traffic are not pinged otherwise. Null: the
 * agent is not connected here.
 */
export function* agentFigures(sessions: Iterable<ConnectedSession>): Generator<AgentFigures | null> {
  let pings = 0;
  for (const { id, local } of sessions) {
    if (local.length === 0) {
      yield null;
      continue;
    }
    let [bytesReceived, bytesSent] = [0, 0];
    for (const connection of local) {
      if (pings < MAX_PINGS && connection.measureRoundTrip()) pings += 1;
      bytesReceived += connection.bytes.received;
      bytesSent += connection.bytes.sent;
    }
    yield { id, roundTripsMs: local.map(({ roundTripMs }) => roundTripMs), bytesReceived, bytesSent };
  }
}
