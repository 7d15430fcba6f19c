import type { Clock } from '../../../kit/clock.ts';
import { isStoreOutage } from '../../../kit/error-text.ts';
import type { JsonObject } from '../../../kit/json.ts';
import type { ModuleLog, ModuleTimers } from '../../contract/keeps-state.ts';
import type { LoginRecords } from '../../contract/login-store.ts';
import type { LoginClient, RefreshedTokens } from '../login-client.ts';
import { LoginProblem } from '../provider/login-problem.ts';
import { type Grant, type GrantDoc, grantClaims, knownFields, REFRESH_RETRY_MS, type RefreshedGrant } from './grant.ts';

/**
 * For a provider that does not announce it: the login must be checked periodically, or its end there is never noticed.
 */
const DEFAULT_SECONDS = 3600;
/** A provider that announces 0 would be asked with every request. */
const MIN_SECONDS = 10;

/** When the provider is asked again about a login. */
export function accessExpiresAtMs(expiresInSeconds: number | null, nowMs: number): number {
  return nowMs + Math.max(expiresInSeconds ?? DEFAULT_SECONDS, MIN_SECONDS) * 1000;
}

/** Longer than the provider timeout: an older claim belonged to a process that died. */
const CLAIM_MS = 20_000;
const POLL_MS = 200;
/** Requests that wait for another process's refresh continue after this: the login is valid until proven otherwise. */
const WAIT_MS = 5_000;

interface RefreshPorts {
  readonly records: LoginRecords;
  readonly clock: Clock;
  readonly timers: Pick<ModuleTimers, 'sleep'>;
  readonly log: ModuleLog;
  readonly count: (happening: string) => void;
  /** How long a login may outlive its last successful refresh while refreshes fail. */
  readonly outageMs: number;
}

/**
 * Refreshes tokens, one at a time per login: providers that rotate refresh tokens treat a second use as theft and end
 * everything. In this process later callers wait for the first; across processes a claim in the store decides, and the
 * loser reads what the winner wrote.
 *
 * Outcomes: *refreshed* (tokens and verified claims are adopted), *kept* (provider or store unavailable: retried later,
 * until the login is overdue) and *ended* (the provider refused, or its response cannot be trusted, and nobody else has
 * rotated the token).
 */
export class TokenRefresh {
  readonly #ports: RefreshPorts;
  readonly #running = new Map<string, Promise<boolean>>();

  constructor(ports: RefreshPorts) {
    this.#ports = ports;
  }

  /** False when the login is over. */
  refresh(grant: Grant, client: LoginClient): Promise<boolean> {
    let running = this.#running.get(grant.id);
    if (running === undefined) {
      running = this.#run(grant, client)
        .catch((error: unknown) => {
          if (!isStoreOutage(error)) throw error;
          return this.#keep(grant, 'store', error.message);
        })
        .finally(() => this.#running.delete(grant.id));
      this.#running.set(grant.id, running);
    }
    return running;
  }

  async #run(grant: Grant, client: LoginClient): Promise<boolean> {
    const { records, clock } = this.#ports;
    if (grant.unwritten !== null) return this.#write(grant, grant.unwritten);
    const now = clock.nowMs();
    // The grant itself follows the store: later it may already reflect the other process.
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

  async #ask(grant: Grant, client: LoginClient): Promise<boolean> {
    const { refresh_token: refreshToken = '', id_token: idToken = null, nonce = null } = grant.secrets;
    const { access_token: accessToken = null } = grant.secrets;
    try {
      const tokens = await client.refresh({ subject: grant.doc.subject, refreshToken, accessToken, idToken, nonce });
      return await this.#write(grant, this.#refreshed(grant, tokens));
    } catch (error) {
      if (!(error instanceof LoginProblem)) throw error;
      if (error.kind !== 'unreachable') return this.#refused(grant, error);
      const isKept = await this.#keep(grant, error.reason, error.message);
      await this.#ports.records.releaseRefresh(grant.id);
      return isKept;
    }
  }

  #refreshed(grant: Grant, tokens: RefreshedTokens): RefreshedGrant {
    const now = this.#ports.clock.nowMs();
    const { accessToken, refreshToken, idToken, claims, unconfirmed } = tokens;
    const secrets = {
      ...grant.secrets,
      access_token: accessToken,
      ...(refreshToken !== '' && { refresh_token: refreshToken }),
      ...(idToken !== null && { id_token: idToken }),
    };
    if (unconfirmed !== null) {
      this.#failed(grant, unconfirmed.reason, unconfirmed.message);
      grant.refreshNotBeforeMs = now + REFRESH_RETRY_MS;
      return { secrets, doc: { ...grant.doc, access_expires_at_ms: now + REFRESH_RETRY_MS }, user: null };
    }
    const doc: GrantDoc = {
      ...grant.doc,
      ...(claims !== null && grantClaims(claims)),
      access_expires_at_ms: accessExpiresAtMs(tokens.accessExpiresInSeconds, now),
      refreshed_at_ms: now,
    };
    return { secrets, doc, user: claims === null ? null : knownFields(claims) };
  }

  /** Keeps in memory what the store does not accept: the provider may have invalidated the stored token. */
  async #write(grant: Grant, refreshed: RefreshedGrant): Promise<boolean> {
    const { records, count } = this.#ports;
    const { secrets, doc, user } = refreshed;
    grant.unwritten = refreshed;
    const record = { secrets, doc: { ...doc } as JsonObject, ...(user !== null && { user }) };
    const written = await records.replaceTokens(grant.id, grant.version, record);
    grant.unwritten = null;
    if (written === null) {
      const newer = await records.getSession(grant.id);
      if (newer !== null) grant.update(newer);
      return newer !== null;
    }
    grant.update(written);
    count('refreshed');
    return !this.#isOverdue(grant) || this.#overdue(grant);
  }

  /** Nothing was refused, so the login continues for now, unless it has for too long. */
  async #keep(grant: Grant, reason: string, problem: string): Promise<boolean> {
    this.#failed(grant, reason, problem);
    grant.refreshNotBeforeMs = this.#ports.clock.nowMs() + REFRESH_RETRY_MS;
    return !this.#isOverdue(grant) || this.#overdue(grant);
  }

  #failed(grant: Grant, reason: string, problem: string): void {
    this.#ports.log.warn({ session: grant.id, reason, problem }, 'failed to refresh tokens');
    this.#ports.count('refresh_failed');
  }

  #isOverdue(grant: Grant): boolean {
    return this.#ports.clock.nowMs() - grant.refreshedAtMs > this.#ports.outageMs;
  }

  async #overdue(grant: Grant): Promise<boolean> {
    this.#ports.count('refresh_overdue');
    this.#ports.log.info(
      { session: grant.id },
      'a login ended: it was not refreshed for longer than login_outage_hours',
    );
    return this.#end(grant);
  }

  /** Over, unless another process has replaced the tokens that the provider refuses. */
  async #refused(grant: Grant, { reason, message }: LoginProblem): Promise<boolean> {
    const { records, log, count } = this.#ports;
    // Without the store: the claim is held, so nobody has rotated it since.
    const record = await records.getSession(grant.id).catch((error: unknown) => {
      if (!isStoreOutage(error)) throw error;
      return null;
    });
    if (record !== null && record.version !== grant.version) {
      grant.update(record);
      return true;
    }
    count('refresh_refused');
    log.info({ session: grant.id, reason, problem: message }, 'a login ended: its provider no longer refreshes it');
    return this.#end(grant);
  }

  /** Immediately in this process, even if the store cannot be written: the provider will refuse another process too. */
  async #end(grant: Grant): Promise<false> {
    grant.isEnded = true;
    await this.#ports.records.deleteSession(grant.id).catch((err: unknown) => {
      this.#ports.log.error({ err, session: grant.id }, 'failed to delete an ended login');
    });
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
      await this.#ports.timers.sleep(POLL_MS);
    }
    return true;
  }
}
