import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '../../lib/json.ts';
import { type PeerLinks, PeerRefusal } from '../../nodes/links/peer-links.ts';

/** A call has at most 64 KiB: three bytes per character, and the line's own quotes twice. */
const CHUNK_CHARACTERS = 20_000;
/** More than this waits only for a node that does not read. */
const MAX_WAITING_CHARACTERS = 8_388_608;
const CALL_WITHIN_MS = 1_500;
const AGAIN_MS = 50;
/** A node that is not linked for this long has lost its connections, or is gone. */
const GIVE_UP_AFTER_MS = 10_000;

interface OutboxParts {
  readonly links: Pick<PeerLinks, 'get' | 'call' | 'relay'>;
  readonly nodeId: string;
  readonly method: string;
  /** Lines were dropped: the caller must settle their subjects in another way. */
  onDropped(): void;
}

/**
 * Lines to another node: in order, each once, confirmed by the other node after it has carried them out. They travel in
 * numbered calls, because a call whose answer is lost may have been carried out.
 */
export class Outbox {
  readonly #parts: OutboxParts;
  #text = '';
  /** Above the numbers of earlier outboxes: the other node ignores numbers that it has seen. A call takes over 1 µs. */
  #number = Math.floor(performance.now() * 1_000);
  #isStart = true;
  #isSending = false;
  #pushed = 0;
  #confirmed = 0;
  #dropped = 0;
  /** Callers of `confirmed`. `upTo` counts characters from the first push. */
  readonly #waiting = new Set<{ readonly upTo: number; settle(isConfirmed: boolean): void }>();

  constructor(parts: OutboxParts) {
    this.#parts = parts;
  }

  get isEmpty(): boolean {
    return this.#confirmed === this.#pushed;
  }

  push(line: JsonObject): void {
    const text = `${JSON.stringify(line)}\n`;
    if (this.#text.length + text.length > MAX_WAITING_CHARACTERS) {
      this.drop();
      return;
    }
    this.#text += text;
    this.#pushed += text.length;
    if (!this.#isSending) void this.#send();
  }

  /** False: the lines were dropped, or the other node did not confirm them in time. */
  confirmed(timeoutMs: number): Promise<boolean> {
    if (this.isEmpty) return Promise.resolve(true);
    return new Promise((resolve) => {
      const one = {
        upTo: this.#pushed,
        settle: (isConfirmed: boolean) => {
          clearTimeout(timer);
          this.#waiting.delete(one);
          resolve(isConfirmed);
        },
      };
      const timer = setTimeout(() => one.settle(false), timeoutMs);
      this.#waiting.add(one);
    });
  }

  /** The other node is gone, or has lost track. */
  drop(): void {
    this.#text = '';
    this.#isStart = true;
    this.#confirmed = this.#pushed;
    this.#dropped += 1;
    for (const one of [...this.#waiting]) one.settle(false);
    this.#parts.onDropped();
  }

  async #send(): Promise<void> {
    const { links, nodeId, method } = this.#parts;
    this.#isSending = true;
    while (this.#text !== '') {
      const dropped = this.#dropped;
      this.#number += 1;
      const text = this.#text.slice(0, CHUNK_CHARACTERS);
      const message = { number: this.#number, start: this.#isStart, text };
      let isSent = false;
      let linkedAtMs = performance.now();
      while (!isSent && dropped === this.#dropped) {
        try {
          if (links.get(nodeId) === undefined) await links.relay(nodeId, method, message, CALL_WITHIN_MS);
          else await links.call(nodeId, method, message, CALL_WITHIN_MS);
          isSent = true;
        } catch (error) {
          if (dropped !== this.#dropped) break;
          if (links.get(nodeId) !== undefined) linkedAtMs = performance.now();
          if (error instanceof PeerRefusal || performance.now() - linkedAtMs > GIVE_UP_AFTER_MS) this.drop();
          else await sleep(AGAIN_MS, undefined, { ref: false });
        }
      }
      if (dropped !== this.#dropped) continue;
      this.#isStart = false;
      this.#text = this.#text.slice(text.length);
      this.#confirmed += text.length;
      for (const one of [...this.#waiting]) if (one.upTo <= this.#confirmed) one.settle(true);
    }
    this.#isSending = false;
  }
}
