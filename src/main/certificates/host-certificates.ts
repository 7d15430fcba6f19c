import { MANAGED_CERTIFICATE } from '../../acme/records.ts';
import { CERTIFICATE_KIND, DOMAIN_KIND, UploadedCertificates } from '../../edge/tls/uploaded-certificates.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Replica } from '../../replica/replica.ts';
import type { HostCertificates } from '../../resources/ports.ts';
import type { Change, StoredRecord } from '../../store/store.ts';

/** Finds certificates by host name for the API, also in a process without an edge. Follows the replica. */
export class HostCertificateIndex implements HostCertificates {
  readonly #clock: Clock;
  readonly #uploaded = new UploadedCertificates();
  readonly #managed = new Map<string, StoredRecord>();
  readonly #names = new Map<string, string>();

  constructor(replica: Pick<Replica, 'all' | 'onChange'>, clock: Clock) {
    this.#clock = clock;
    const kinds = [CERTIFICATE_KIND, DOMAIN_KIND, MANAGED_CERTIFICATE];
    for (const kind of kinds) for (const record of replica.all(kind)) this.#apply({ op: 'put', record });
    replica.onChange((changes) => {
      for (const change of changes) this.#apply(change);
    }, kinds);
  }

  managed(hostname: string): StoredRecord | undefined {
    return this.#managed.get(hostname);
  }

  uploaded(hostname: string): string | null {
    return this.#uploaded.findId(hostname, this.#clock.nowMs());
  }

  #apply(change: Change): void {
    const { kind, id } = change.op === 'put' ? change.record : change.key;
    this.#uploaded.apply(change);
    if (kind !== MANAGED_CERTIFICATE) return;
    const before = this.#names.get(id);
    // When everything is reloaded, the successor may be reported before this one's removal.
    if (before !== undefined && this.#managed.get(before)?.id === id) this.#managed.delete(before);
    this.#names.delete(id);
    if (change.op === 'delete') return;
    const hostname = change.record.doc['hostname'] as string;
    this.#names.set(id, hostname);
    this.#managed.set(hostname, change.record);
  }
}
