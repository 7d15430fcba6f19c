import type { JsonObject } from '../../../kit/json.ts';
import { readOrNull } from '../../../kit/read-or-null.ts';
import { HostTable } from '../../snapshot/host-table.ts';

/** Configuration records needed for certificates. The replica implements this. */
export interface CertificateRecords {
  all(kind: string): Iterable<CertificateRecord>;
  /** Called after `all` shows changes of these kinds. Returns a function that stops listening. */
  onChange(listener: (changes: readonly CertificateRecordChange[]) => void, kinds: readonly string[]): () => void;
}

export interface CertificateRecord {
  readonly kind: string;
  readonly id: string;
  readonly revision: number;
  readonly doc: JsonObject;
  /** By JSON pointer, each as JSON text. */
  readonly secrets: Readonly<Record<string, string>> | null;
}

export type CertificateRecordChange =
  | { readonly op: 'put'; readonly record: CertificateRecord }
  | { readonly op: 'delete'; readonly key: { readonly kind: string; readonly id: string } };

/** A certificate that a host can present, with its key. */
export interface ServedCertificate {
  /** Equal only for the same certificate and key. */
  readonly identity: string;
  readonly source: 'uploaded' | 'managed' | 'internal';
  /** The chain, the host's own certificate first. */
  readonly certificatePem: string;
  readonly privateKeyPem: string;
  readonly notAfterMs: number;
  /** Sessions resume with any certificate of the same scope, on any node. Absent: with this certificate only. */
  readonly ticketScope?: string;
  /** It was issued for a name that no edge lists: anybody can cause many of them. */
  readonly isOfInventedName?: boolean;
}

export const CERTIFICATE_KIND = 'tls_certificate';
export const DOMAIN_KIND = 'reserved_domain';
const KEY_POINTER = '/private_key_pem';

interface Uploaded {
  readonly record: CertificateRecord;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /**
   * Names and wildcards, lower case. Empty for a certificate that is not for servers: then only a reserved domain can
   * select it.
   */
  readonly names: readonly string[];
}

interface ReservedDomain {
  readonly domain: string;
  readonly certificateId: string;
  /** The authority that its policy names; null: it has no policy. */
  readonly authority: string | null;
}

/** Uploaded certificates by their names. The cost of a change does not depend on their number. */
export class UploadedCertificates {
  readonly #certificates = new Map<string, Uploaded>();
  /** By name or wildcard; the one with the latest expiry first. */
  readonly #byName = new Map<string, readonly Uploaded[]>();
  readonly #domains = new Map<string, ReservedDomain>();
  readonly #byHost = new HostTable<ReservedDomain>();

  apply(change: CertificateRecordChange): void {
    const { kind, id } = change.op === 'put' ? change.record : change.key;
    if (kind === CERTIFICATE_KIND) {
      this.#removeCertificate(id);
      if (change.op === 'put') this.#addCertificate(change.record);
    } else if (kind === DOMAIN_KIND) {
      this.#removeDomain(id);
      if (change.op === 'put') this.#addDomain(change.record);
    }
  }

  /**
   * The certificate selected by a reserved domain, then by exact name, then by wildcard. Null: the host has none that
   * is valid now. Throws when the selected one has no key.
   */
  find(host: string, nowMs: number): ServedCertificate | null {
    const found = this.#best(host, nowMs);
    return found === undefined ? null : served(found);
  }

  /** The id of the certificate that `find` selects. */
  findId(host: string, nowMs: number): string | null {
    return this.#best(host, nowMs)?.record.id ?? null;
  }

  /** The authority in the policy of the host's reserved domain; null: it has no policy. */
  authorityOf(host: string): string | null {
    return this.#byHost.find(host)?.authority ?? null;
  }

  #best(host: string, nowMs: number): Uploaded | undefined {
    const reserved = this.#byHost.find(host);
    const chosen = reserved === undefined ? undefined : this.#certificates.get(reserved.certificateId);
    if (chosen !== undefined && isValid(chosen, nowMs)) return chosen;
    const dot = host.indexOf('.');
    return this.#longestValid(host, nowMs) ?? this.#longestValid(`*${host.slice(dot)}`, nowMs);
  }

  #longestValid(name: string, nowMs: number): Uploaded | undefined {
    return this.#byName.get(name)?.find((uploaded) => isValid(uploaded, nowMs));
  }

  #addCertificate(record: CertificateRecord): void {
    const uploaded = readOrNull(() => readCertificate(record));
    if (uploaded === null) return;
    this.#certificates.set(record.id, uploaded);
    for (const name of uploaded.names) {
      const others = this.#byName.get(name) ?? [];
      this.#byName.set(
        name,
        [...others, uploaded].sort((a, b) => b.notAfterMs - a.notAfterMs),
      );
    }
  }

  #removeCertificate(id: string): void {
    const uploaded = this.#certificates.get(id);
    this.#certificates.delete(id);
    for (const name of uploaded?.names ?? []) {
      const others = (this.#byName.get(name) ?? []).filter((other) => other !== uploaded);
      if (others.length === 0) this.#byName.delete(name);
      else this.#byName.set(name, others);
    }
  }

  #addDomain(record: CertificateRecord): void {
    const domain = readOrNull(() => readDomain(record));
    if (domain === null) return;
    this.#domains.set(record.id, domain);
    this.#byHost.set(domain.domain, domain);
  }

  #removeDomain(id: string): void {
    const reserved = this.#domains.get(id);
    if (reserved === undefined) return;
    this.#domains.delete(id);
    // When everything is reloaded, the successor may be reported before this one's removal.
    if (this.#byHost.find(reserved.domain) === reserved) this.#byHost.delete(reserved.domain);
  }
}

/** Throws if it is not what the API writes. */
export function readDomain({ doc }: Pick<CertificateRecord, 'doc'>): ReservedDomain {
  const { domain, certificate_management_policy: policy = null } = doc;
  if (typeof domain !== 'string') throw new Error('the domain has no name');
  return {
    domain,
    certificateId: (doc['certificate_id'] as string | null) ?? '',
    authority: (policy as { readonly authority?: string } | null)?.authority ?? null,
  };
}

/** The fields were derived when the certificate was uploaded or changed. Throws if it is not what the API writes. */
export function readCertificate(record: CertificateRecord): Uploaded {
  const { subject_alternative_names: alternatives, extended_key_usages: usages, not_before, not_after } = record.doc;
  const { dns_names: names = [] } = (alternatives ?? {}) as { readonly dns_names?: readonly string[] };
  const usageNames = (usages ?? []) as readonly string[];
  const isForServers =
    usageNames.length === 0 || usageNames.some((usage) => usage === 'server_auth' || usage === 'any');
  return {
    record,
    notBeforeMs: Date.parse(not_before as string),
    notAfterMs: Date.parse(not_after as string),
    names: isForServers ? [...new Set(names.map((name) => name.toLowerCase()))] : [],
  };
}

/** An unreadable date compares as false, so such a certificate is never presented. */
function isValid({ notBeforeMs, notAfterMs }: Uploaded, nowMs: number): boolean {
  return notBeforeMs <= nowMs && nowMs < notAfterMs;
}

function served({ record, notAfterMs }: Uploaded): ServedCertificate {
  const keyText = record.secrets?.[KEY_POINTER];
  if (keyText === undefined) throw new Error(`${record.id} has no private key`);
  return {
    identity: `${record.id} ${record.revision}`,
    source: 'uploaded',
    certificatePem: record.doc['certificate_pem'] as string,
    privateKeyPem: JSON.parse(keyText) as string,
    notAfterMs,
  };
}
