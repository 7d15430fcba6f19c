import type { SharedTally } from '../../lib/process/shared-memory.ts';

/** What the limits count, of all threads that serve visitors. */
export interface EdgeTallies {
  readonly requests: SharedTally;
  readonly streams: SharedTally;
  readonly connections: SharedTally;
  readonly handshakes: SharedTally;
  readonly plainConnections: SharedTally;
}
