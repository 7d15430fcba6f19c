import { KeyedMutex } from '../../kit/async/turns.ts';
import { isSignedByLater, type RevocationList, stateOf } from '../../kit/pki/revocation-list.ts';
import {
  authorityCertificate,
  CRL_FETCH_KIND,
  CRL_KIND,
  crlFetchId,
  crlId,
  crlModeOf,
  crlStatus,
  crlUrlOf,
  listsInRecord,
  remember,
  stateFor,
  uploadedLists,
} from '../authority-crl.ts';
import type { FollowedKey, FollowedRecord, ModuleRuntime, RuntimePorts } from '../contract/keeps-state.ts';
import { CrlFetcher } from './crl-fetcher.ts';
import type { MutualTlsSettings } from './settings.ts';

export const AUTHORITY_KIND = 'certificate_authority';
const LOOK_EVERY_MS = 1000;
const NONE: readonly RevocationList[] = [];

interface LoadedCrl {
  readonly revision: number;
  readonly lists: readonly RevocationList[];
}

/**
 * Keeps the fetched lists of all authorities in memory, parsed: it follows their records, fetches what is due, and has
 * edges judge their connections again when a list arrives or its time runs out.
 */
export class CrlRuntime implements ModuleRuntime {
  readonly clock: RuntimePorts['clock'];
  readonly #ports: RuntimePorts;
  readonly #fetcher: CrlFetcher;
  readonly #loaded = new Map<string, LoadedCrl>();
  readonly #loading = new KeyedMutex();
  /** What was last seen of each authority's lists: which, and whether they are current. */
  readonly #standing = new Map<string, string>();
  readonly #reported = new Map<string, string>();
  #stops: readonly (() => void)[] = [];

  private constructor(ports: RuntimePorts, settings: MutualTlsSettings) {
    this.#ports = ports;
    this.clock = ports.clock;
    this.#fetcher = new CrlFetcher(ports, {
      intervalMs: settings.crl_refresh_seconds * 1000,
      allowedCidrs: settings.crl_allow_cidrs,
      current: (authorityId) => this.fetchedLists(authorityId),
      onFree: () => this.#look(),
    });
  }

  /** The stored lists are loaded before any edge is compiled. */
  static async open(ports: RuntimePorts, settings: MutualTlsSettings): Promise<CrlRuntime> {
    const runtime = new CrlRuntime(ports, settings);
    const stop = ports.followed.onChange((changed) => runtime.#follow(changed));
    for (const { id } of [...ports.followed.all(CRL_KIND)]) await runtime.#load(authorityOf(id));
    runtime.#stops = [stop, ports.timers.every(LOOK_EVERY_MS, () => runtime.#look())];
    runtime.#look();
    return runtime;
  }

  /** Empty until the first one has arrived. */
  fetchedLists(authorityId: string): readonly RevocationList[] {
    return this.#loaded.get(authorityId)?.lists ?? NONE;
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop();
    await this.#fetcher.close();
  }

  #follow(changed: readonly FollowedKey[]): void {
    for (const { kind, id } of changed) {
      if (kind === CRL_KIND) void this.#load(authorityOf(id));
      else if (kind === AUTHORITY_KIND) this.#lookAt(id);
    }
  }

  #look(): void {
    for (const { id } of this.#ports.followed.all(AUTHORITY_KIND)) this.#lookAt(id);
  }

  #lookAt(id: string): void {
    try {
      this.#lookAtOne(id);
    } catch (err) {
      // One damaged record must not keep the others from being looked at.
      this.#ports.log.error({ err, certificate_authority: id }, 'failed to check a revocation list');
    }
  }

  #lookAtOne(id: string): void {
    const { followed } = this.#ports;
    const authority = followed.get(AUTHORITY_KIND, id);
    if (authority === undefined) {
      this.#standing.delete(id);
      this.#reported.delete(id);
      return;
    }
    const url = crlUrlOf(authority.doc);
    if (url === '' && followed.get(CRL_KIND, crlId(id)) !== undefined) this.#drop(id);
    if (crlModeOf(authority.doc) === 'off') {
      this.#standing.delete(id);
      this.#reported.delete(id);
      return;
    }
    if (url !== '') this.#fetcher.look(authority, url);
    this.#watch(authority);
  }

  /** A list becomes stale without a change of any record: open connections are checked again then, too. */
  #watch(authority: FollowedRecord): void {
    const { id, doc } = authority;
    const nowMs = this.clock.nowMs();
    const lists = [...uploadedLists(doc), ...this.fetchedLists(id)];
    const standing = lists.map((list) => `${list.digest} ${stateOf(list, nowMs)}`).join(' ');
    const before = this.#standing.get(id);
    this.#standing.set(id, standing);
    if (before !== undefined && before !== standing) this.#ports.followed.recompile(AUTHORITY_KIND, id);
    this.#report(authority, nowMs);
  }

  #report({ id, doc }: FollowedRecord, nowMs: number): void {
    const { followed, log } = this.#ports;
    const { status } = crlStatus(doc, followed.get(CRL_KIND, crlId(id))?.doc, nowMs);
    const mode = crlModeOf(doc);
    const url = crlUrlOf(doc);
    const fetching = stateFor(followed.get(CRL_FETCH_KIND, crlFetchId(id))?.doc, url);
    // The first request is on its way.
    if (status === 'missing' && url !== '' && fetching.failures === 0) return;
    const report = `${mode} ${status}`;
    const before = this.#reported.get(id);
    if (before === report) return;
    this.#reported.set(id, report);
    const fields = { certificate_authority: id, crl_status: status, crl_mode: mode };
    if (status !== 'current') {
      log.warn(
        fields,
        mode === 'hard'
          ? 'a revocation list cannot be used: client certificates of this authority are rejected'
          : 'a revocation list cannot be used: client certificates of this authority are accepted without a check',
      );
    } else if (before !== undefined) log.info(fields, 'a revocation list can be used again');
  }

  /** In turn for each authority; the last one to run sees the newest record. */
  #load(authorityId: string): Promise<void> {
    return this.#loading.run(authorityId, async () => {
      const { followed, log } = this.#ports;
      const record = followed.get(CRL_KIND, crlId(authorityId));
      const authority = followed.get(AUTHORITY_KIND, authorityId);
      if (record === undefined || authority === undefined) {
        this.#loaded.delete(authorityId);
        return;
      }
      if (this.#loaded.get(authorityId)?.revision === record.revision) return;
      try {
        const lists = await verifiedLists(record, authority);
        this.#loaded.set(authorityId, { revision: record.revision, lists });
      } catch (err) {
        // The previous lists, if any, stay in use until they are stale.
        log.error({ err, certificate_authority: authorityId }, 'a stored revocation list is damaged');
        return;
      }
      followed.recompile(CRL_KIND, crlId(authorityId));
    });
  }

  #drop(authorityId: string): void {
    const { followed, log } = this.#ports;
    Promise.all([
      followed.remove(CRL_KIND, crlId(authorityId)),
      followed.remove(CRL_FETCH_KIND, crlFetchId(authorityId)),
    ]).catch((err: unknown) => log.error({ err }, 'failed to delete a revocation list'));
  }
}

/** The database is no authority: a list in it counts by its signature. */
async function verifiedLists(record: FollowedRecord, authority: FollowedRecord): Promise<readonly RevocationList[]> {
  const certificate = authorityCertificate(authority.doc);
  const lists = await listsInRecord(record.doc);
  for (const list of lists) {
    const isGood = await isSignedByLater(list.signature, certificate.publicKey);
    if (!isGood) throw new Error('its signature is wrong');
    remember(list, certificate, isGood);
  }
  return lists;
}

function authorityOf(recordId: string): string {
  return recordId.slice(0, recordId.lastIndexOf('.'));
}
