import { type Clock, rfc3339 } from '../../../lib/clock.ts';
import type { ModuleLog, ModuleTimers } from '../../contract/keeps-state.ts';
import type { FollowedRecords, OwnRecordPut } from '../../contract/kept-records.ts';
import { TOKEN_USE_KIND, tokenUseId } from '../../service-account-records.ts';
import type { AccountToken } from './account-token.ts';

const MINUTE_MS = 60_000;
const FLUSH_MS = 1_000;
/** After a failed write: a store that is down must not fill the log. */
const RETRY_MS = 30_000;
/** In one transaction. */
const MAX_WRITTEN = 500;

export interface TokenUsesPorts {
  readonly followed: FollowedRecords;
  readonly timers: ModuleTimers;
  readonly clock: Clock;
  readonly log: ModuleLog;
}

/**
 * Records when tokens are used: within a second of the first use, then at most once a minute per token and process. A
 * request only marks its token.
 */
export class TokenUses {
  readonly #ports: TokenUsesPorts;
  readonly #used = new Set<AccountToken>();
  readonly #stop: () => void;
  #writing: Promise<void> = Promise.resolve();
  #isWriting = false;
  #retryAtMs = 0;

  constructor(ports: TokenUsesPorts) {
    this.#ports = ports;
    this.#stop = ports.timers.every(FLUSH_MS, () => {
      if (this.#ports.clock.nowMs() >= this.#retryAtMs) this.#flush((token) => this.#isDue(token));
    });
  }

  add(token: AccountToken): void {
    this.#used.add(token);
  }

  async close(): Promise<void> {
    this.#stop();
    await this.#writing;
    this.#flush(() => true);
    await this.#writing;
  }

  #flush(isDue: (token: AccountToken) => boolean): void {
    if (this.#used.size === 0 || this.#isWriting) return;
    const due = [...this.#used].filter((token) => token.isDeleted || isDue(token)).slice(0, MAX_WRITTEN);
    if (due.length === 0) return;
    for (const token of due) this.#used.delete(token);
    this.#isWriting = true;
    this.#writing = this.#write(due.filter(({ isDeleted }) => !isDeleted))
      .catch((err: unknown) => {
        for (const token of due) this.#used.add(token);
        this.#retryAtMs = this.#ports.clock.nowMs() + RETRY_MS;
        this.#ports.log.error({ err }, 'failed to record the use of tokens');
      })
      .finally(() => {
        this.#isWriting = false;
      });
  }

  #isDue({ id, usedAtMs }: AccountToken): boolean {
    const ageMs = usedAtMs - this.#recordedMs(id);
    // A clock that was set back must not keep the record in the future.
    return ageMs >= MINUTE_MS || ageMs < 0;
  }

  #recordedMs(tokenId: string): number {
    const doc = this.#ports.followed.get(TOKEN_USE_KIND, tokenUseId(tokenId))?.doc;
    return doc === undefined ? 0 : Date.parse(doc['used_at'] as string);
  }

  async #write(tokens: readonly AccountToken[]): Promise<void> {
    const puts = tokens.map((token) => this.#put(token));
    if (puts.length === 0 || (await this.#ports.followed.write(puts))) return;
    // Another process was faster for one of them, or one was deleted: the others must not suffer.
    for (const token of tokens) await this.#ports.followed.write([this.#put(token)]);
  }

  #put({ id, usedAtMs }: AccountToken): OwnRecordPut {
    const useId = tokenUseId(id);
    return {
      kind: TOKEN_USE_KIND,
      id: useId,
      parent: id,
      doc: { used_at: rfc3339(usedAtMs) },
      seen: this.#ports.followed.get(TOKEN_USE_KIND, useId),
    };
  }
}
