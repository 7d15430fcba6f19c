import { RepeatedWarnings } from '../../lib/repeated-warnings.ts';

/** Announcements that were refused. `facts` are ids, names and numbers, never a whole announcement. */
export interface RefusalLog {
  refused(nodeId: string, reason: string, facts: Readonly<Record<string, string | number>>): void;
}

export class LoggedRefusals implements RefusalLog {
  readonly #log: RepeatedWarnings;

  constructor(log: { warn(fields: object, message: string): void }) {
    this.#log = new RepeatedWarnings(log, 'refused an announcement of another node');
  }

  refused(nodeId: string, reason: string, facts: Readonly<Record<string, string | number>>): void {
    this.#log.warn({ peer_id: nodeId, why: reason, ...facts }, `${nodeId} ${reason}`);
  }
}
