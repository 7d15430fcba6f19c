import type { ModuleTimers } from '../../contract/keeps-state.ts';
import type { LoginRecords } from '../login-store.ts';
import type { Grant, SessionLimits } from './grant.ts';

/** After a crash, `last_active` in the store is early by at most this. */
const ACTIVITY_INTERVAL_MS = 10_000;
/** More in one transaction would block other writers for too long. */
const MAX_ROWS = 500;

/** Writes when logins were last used: in batches, periodically, and never on a request's path. */
export class Activity {
  readonly #records: LoginRecords;
  readonly #onProblem: (error: unknown) => void;
  #dirty = new Map<Grant, SessionLimits>();
  #writing: Promise<void> = Promise.resolve();
  readonly #stop: () => void;

  constructor(records: LoginRecords, timers: ModuleTimers, onProblem: (error: unknown) => void) {
    this.#records = records;
    this.#onProblem = onProblem;
    this.#stop = timers.every(ACTIVITY_INTERVAL_MS, () => void this.flush());
  }

  used(grant: Grant, limits: SessionLimits, nowMs: number): void {
    if (nowMs > grant.lastActiveMs) grant.lastActiveMs = nowMs;
    this.#dirty.set(grant, limits);
  }

  /** Failed writes are retried with the next batch. */
  flush(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  async close(): Promise<void> {
    this.#stop();
    await this.flush();
  }

  async #write(): Promise<void> {
    const dirty = this.#dirty;
    if (dirty.size === 0) return;
    this.#dirty = new Map();
    const rows = [...dirty]
      .filter(([grant]) => !grant.isEnded)
      .map(([grant, limits]) => ({
        id: grant.id,
        lastActiveMs: grant.lastActiveMs,
        expiresAtMs: grant.expiresAtMs(limits),
      }));
    try {
      for (let at = 0; at < rows.length; at += MAX_ROWS) await this.#records.touch(rows.slice(at, at + MAX_ROWS));
    } catch (error) {
      for (const [grant, limits] of dirty) if (!this.#dirty.has(grant)) this.#dirty.set(grant, limits);
      this.#onProblem(error);
    }
  }
}
