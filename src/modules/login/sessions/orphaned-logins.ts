import type { RuntimePorts } from '../../module-runtime.ts';
import type { LoginRecords } from '../login-store.ts';

/**
 * Ends logins whose provider or client is no longer configured on any route of their edge. The check of each request
 * rejects them anyway; this makes the API show it too. A disabled module still counts: it may be enabled again.
 */
export class OrphanedLogins {
  readonly #ports: Pick<RuntimePorts, 'ownConfigs' | 'log'>;
  readonly #records: LoginRecords;
  readonly #edges = new Set<string>();
  readonly #waiting = new Set<string>();
  #running: Promise<void> = Promise.resolve();

  constructor(ports: Pick<RuntimePorts, 'ownConfigs' | 'log'>, records: LoginRecords) {
    this.#ports = ports;
    this.#records = records;
  }

  /** Handles changes made while no process was running. */
  async open(): Promise<void> {
    for (const edgeId of await this.#records.listEdgeIds()) {
      this.#edges.add(edgeId);
      await this.#end(edgeId);
    }
  }

  hasLogins(edgeId: string): void {
    this.#edges.add(edgeId);
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
    const kept = this.#ports.ownConfigs(edgeId).map((config) => ({
      issuer: config['issuer'] as string,
      clientId: config['client_id'] as string,
    }));
    try {
      const ended = await this.#records.endOrphans(edgeId, kept);
      if (ended.length > 0) {
        this.#ports.log.info(
          { edge: edgeId, ended: ended.length },
          'ended logins whose provider or client is no longer configured',
        );
      }
      if (kept.length === 0) this.#edges.delete(edgeId);
    } catch (err) {
      this.#ports.log.error({ err, edge: edgeId }, 'failed to end the logins of a former provider');
    }
  }
}
