/** Announcements that were refused. `facts` are ids, names and numbers, never a whole announcement. */
export interface RefusalLog {
  refused(nodeId: string, reason: string, facts: Readonly<Record<string, string | number>>): void;
}

interface Log {
  warn(fields: object, message: string): void;
}

/** The same reason from the same node is logged this often; a hostile node must not fill the log. */
const EVERY_MS = 10_000;
const MAX_REASONS = 1_000;

export class LoggedRefusals implements RefusalLog {
  readonly #log: Log;
  readonly #reasons = new Map<string, { loggedAtMs: number; unlogged: number }>();

  constructor(log: Log) {
    this.#log = log;
  }

  refused(nodeId: string, reason: string, facts: Readonly<Record<string, string | number>>): void {
    const key = `${nodeId} ${reason}`;
    const nowMs = performance.now();
    const known = this.#reasons.get(key);
    if (known !== undefined && nowMs - known.loggedAtMs < EVERY_MS) {
      known.unlogged += 1;
      return;
    }
    if (this.#reasons.size >= MAX_REASONS) this.#reasons.clear();
    this.#reasons.set(key, { loggedAtMs: nowMs, unlogged: 0 });
    const more = known === undefined || known.unlogged === 0 ? {} : { unlogged: known.unlogged };
    this.#log.warn({ peer_id: nodeId, why: reason, ...facts, ...more }, 'refused an announcement of another node');
  }
}
