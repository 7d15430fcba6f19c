import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../../lib/clock.ts';
import type { LoginRecords, ModuleLog } from '../../module-runtime.ts';
import { LoginProblem } from '../provider/login-problem.ts';
import type { OidcClient } from '../provider/oidc-client.ts';
import type { Grant, GrantDoc } from './grant.ts';

/** Longer than a provider is waited for: a claim that outlives this belonged to a process that died. */
const CLAIM_MS = 20_000;
const POLL_MS = 200;
/** Whoever waits for another process's renewal goes on after this: the login is in force until somebody says otherwise. */
const WAIT_MS = 5_000;
/** A provider that cannot be asked is left alone for so long; the login goes on until its own limits. */
const RETRY_MS = 30_000;

export interface RefreshPorts {
  readonly records: LoginRecords;
  readonly clock: Clock;
  readonly log: ModuleLog;
  readonly count: (happening: string) => void;
}

/**
 * Renews tokens, one at a time per login: providers that rotate refresh tokens take the second use of one for a theft and end
 * everything. In this process those who come later wait for the first; across processes a claim in the store decides, and the
 * loser reads what the winner wrote.
 */
export class TokenRefresh {
  readonly #ports: RefreshPorts;
  readonly #running = new Map<string, Promise<boolean>>();

  constructor(ports: RefreshPorts) {
    this.#ports = ports;
  }

  /** False when the provider says that the login is over. */
  refresh(grant: Grant, client: OidcClient): Promise<boolean> {
    let running = this.#running.get(grant.id);
    if (running === undefined) {
      running = this.#run(grant, client).finally(() => this.#running.delete(grant.id));
      this.#running.set(grant.id, running);
    }
    return running;
  }

  async #run(grant: Grant, client: OidcClient): Promise<boolean> {
    const { records, clock } = this.#ports;
    const now = clock.nowMs();
    // The grant itself follows the store: by the time it is looked at, it may be what the other process made of it.
    const { version } = grant;
    if (!(await records.claimRefresh(grant.id, now, now + CLAIM_MS))) return this.#waitForOther(grant, version);
    const record = await records.getSession(grant.id);
    if (record === null) return false;
    if (record.version !== version) {
      grant.update(record);
      await records.releaseRefresh(grant.id);
      return true;
    }
    return this.#ask(grant, client);
  }

  async #ask(grant: Grant, client: OidcClient): Promise<boolean> {
    const { records, clock, log, count } = this.#ports;
    try {
      const tokens = await client.refresh(grant.secrets['refresh_token'] ?? '', grant.doc.subject);
      const expiresIn = tokens.accessExpiresInSeconds;
      const doc: GrantDoc = {
        ...grant.doc,
        access_expires_at_ms: expiresIn === null ? null : clock.nowMs() + expiresIn * 1000,
      };
      const secrets = {
        ...grant.secrets,
        ...(tokens.accessToken !== null && { access_token: tokens.accessToken }),
        ...(tokens.refreshToken !== null && { refresh_token: tokens.refreshToken }),
        ...(tokens.idToken !== null && { id_token: tokens.idToken }),
      };
      const written = await records.replaceTokens(grant.id, grant.version, { secrets, doc: { ...doc } });
      if (written === null) return (await records.getSession(grant.id)) !== null;
      grant.update(written);
      count('refreshed');
      return true;
    } catch (error) {
      if (!(error instanceof LoginProblem)) throw error;
      if (error.kind === 'invalid_grant') return this.#refused(grant);
      log.warn({ session: grant.id, reason: error.reason, problem: error.message }, 'tokens could not be renewed');
      count('refresh_failed');
      grant.refreshNotBeforeMs = clock.nowMs() + RETRY_MS;
      await records.releaseRefresh(grant.id);
      return true;
    }
  }

  /** The provider no longer knows the token: over, unless somebody else has put a newer one in its place. */
  async #refused(grant: Grant): Promise<boolean> {
    const { records, log, count } = this.#ports;
    const record = await records.getSession(grant.id);
    if (record !== null && record.version !== grant.version) {
      grant.update(record);
      return true;
    }
    count('refresh_refused');
    log.info({ session: grant.id }, 'a login ended: its provider no longer renews it');
    await records.deleteSession(grant.id);
    return false;
  }

  async #waitForOther(grant: Grant, version: number): Promise<boolean> {
    const { records } = this.#ports;
    for (let waitedMs = 0; waitedMs < WAIT_MS; waitedMs += POLL_MS) {
      const record = await records.getSession(grant.id);
      if (record === null) return false;
      if (record.version !== version) {
        grant.update(record);
        return true;
      }
      await sleep(POLL_MS);
    }
    return true;
  }
}
