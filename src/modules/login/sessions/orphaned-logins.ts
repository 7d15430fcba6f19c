import type { ModuleLog } from '../../contract/keeps-state.ts';
import type { LoginClientId, LoginRecords } from '../../contract/login-store.ts';

/** Ids of addresses that agents publish. */
const PUBLISHED_BY_AGENT = /^ep_/;

/**
 * Ends logins whose provider or client is no longer configured on any route of their edge. The check of each request
 * rejects them anyway; this makes the API show it too. A disabled module still counts: it may be enabled again. An
 * address of an agent keeps its logins: no record says which clients it has, and it comes back under the same id, here
 * or at another node.
 */
export class OrphanedLogins {
  readonly #log: ModuleLog;
  readonly #records: LoginRecords;
  readonly #refresh: () => Promise<void>;
  readonly #sources: ((edgeId: string) => readonly LoginClientId[])[] = [];
  readonly #edges = new Set<string>();
  readonly #waiting = new Set<string>();
  #running: Promise<void> = Promise.resolve();

  /** `refresh` reads what other processes have written up to now. */
  constructor(log: ModuleLog, records: LoginRecords, refresh: () => Promise<void>) {
    this.#log = log;
    this.#records = records;
    this.#refresh = refresh;
  }

  /** A module tells which clients an edge has. All must have done so before `open`: others' logins end. */
  keepClients(clientsOn: (edgeId: string) => readonly LoginClientId[]): void {
    this.#sources.push(clientsOn);
  }

  /** Handles changes made while no process was running. */
  async open(): Promise<void> {
    for (const edgeId of await this.#records.listEdgeIds()) {
      if (PUBLISHED_BY_AGENT.test(edgeId)) continue;
      this.#edges.add(edgeId);
      await this.#end(edgeId);
    }
  }

  hasLogins(edgeId: string): void {
    if (!PUBLISHED_BY_AGENT.test(edgeId)) this.#edges.add(edgeId);
  }

  edgeChanged(edgeId: string): void {
    if (!this.#edges.has(edgeId) || this.#waiting.has(edgeId)) return;
    this.#waiting.add(edgeId);
    this.#running = this.#running.then(async () => {
      this.#waiting.delete(edgeId);
      await this.#end(edgeId);
    });
  }

  close(): Promise<void> {
    return this.#running;
  }

  async #end(edgeId: string): Promise<void> {
    try {
      // Another process may have added a client, and a login at it, that this one has not read yet.
      await this.#refresh();
      const kept = this.#sources.flatMap((clientsOn) => clientsOn(edgeId));
      const ended = await this.#records.endOrphans(edgeId, kept);
      if (ended.length > 0) {
        this.#log.info(
          { edge: edgeId, ended: ended.length },
          'ended logins whose provider or client is no longer configured',
        );
      }
      if (kept.length === 0) this.#edges.delete(edgeId);
    } catch (err) {
      this.#log.error({ err, edge: edgeId }, 'failed to end the logins of a former provider');
    }
  }
}
