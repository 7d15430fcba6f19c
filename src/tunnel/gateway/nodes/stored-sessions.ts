import { setTimeout as sleep } from 'node:timers/promises';
import { KeyedMutex } from '../../../kit/async/turns.ts';
import { within } from '../../../kit/async/waiting.ts';
import type { NodeStore } from '../../../store/node-store.ts';
import { type AgentSession, sessionRecord } from '../agent-session.ts';
import type { SessionRecords } from '../tunnel-names.ts';

const STORE_WITHIN_MS = 3_000;
const AGAIN_MS = 1_000;

interface StoredSessionsParts {
  readonly store: NodeStore;
  readonly nodeId: string;
  onProblem(error: unknown): void;
  /** The store has another home for the session, or does not know the session. */
  onLost(session: AgentSession): void;
}

/** Keeps the sessions of this node in the store. Changes of one session are written together. */
export class StoredSessions implements SessionRecords {
  readonly #parts: StoredSessionsParts;
  readonly #queue = new KeyedMutex();
  readonly #dirty = new Set<AgentSession>();
  #isClosed = false;

  constructor(parts: StoredSessionsParts) {
    this.#parts = parts;
  }

  async create(session: AgentSession): Promise<void> {
    const { store, nodeId } = this.#parts;
    const { id, credentialId } = session;
    const put = this.#queue.run(id, () => store.putSession({ id, nodeId, credentialId, doc: sessionRecord(session) }));
    try {
      const stored = await within(put, STORE_WITHIN_MS, 'the database');
      if (stored === null) throw new Error('the store has this session with another home');
      session.epoch = stored.epoch;
    } catch (error) {
      this.#parts.onProblem(error);
      // The store may still carry out the write.
      this.remove(session, Promise.resolve());
      throw error;
    }
  }

  changed(session: AgentSession): void {
    if (this.#dirty.has(session) || session.isEnded || session.home !== null) return;
    this.#dirty.add(session);
    void this.#queue.run(session.id, () => this.#write(session));
  }

  remove(session: AgentSession, unserved: Promise<void>): void {
    const { store, nodeId } = this.#parts;
    void this.#queue.run(session.id, async () => {
      await unserved;
      while (!this.#isClosed) {
        try {
          await store.removeSession(session.id, nodeId);
          return;
        } catch (error) {
          await this.#failed(error);
        }
      }
    });
  }

  /** Resolves when everything about the session is written. */
  settled(session: AgentSession): Promise<void> {
    return this.#queue.settled(session.id);
  }

  close(): void {
    this.#isClosed = true;
  }

  async #write(session: AgentSession): Promise<void> {
    const { store, nodeId } = this.#parts;
    while (!this.#isClosed && !session.isEnded && session.home === null) {
      this.#dirty.delete(session);
      const { id, credentialId, epoch } = session;
      try {
        const stored = await store.putSession({ id, nodeId, credentialId, doc: sessionRecord(session) }, epoch);
        if (stored === null && session.epoch === epoch && session.home === null && !session.isEnded) {
          this.#parts.onLost(session);
        }
        return;
      } catch (error) {
        this.#dirty.add(session);
        await this.#failed(error);
      }
    }
    this.#dirty.delete(session);
  }

  async #failed(error: unknown): Promise<void> {
    this.#parts.onProblem(error);
    await sleep(AGAIN_MS, undefined, { ref: false });
  }
}
