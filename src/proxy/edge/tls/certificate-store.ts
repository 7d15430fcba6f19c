import { Turns } from '../../../kit/async/turns.ts';
import type { Clock } from '../../../kit/clock.ts';
import type { JsonObject } from '../../../kit/json.ts';
import { LruMap } from '../../../kit/lru-map.ts';
import { readOrNull } from '../../../kit/read-or-null.ts';
import type { InternalCa } from '../../pki/internal-ca.ts';
import { ManagedCertificates } from '../../pki/managed-certificates.ts';
import { HostTable } from '../../snapshot/host-table.ts';

/** The authority in a domain's policy that stands for the configured ACME servers. */
const MANAGED_AUTHORITY = 'letsencrypt';

interface CertificateStoreOptions {
  readonly records: CertificateRecords;
  readonly ca: Pick<InternalCa, 'mintLeaf'>;
  readonly clock: Clock;
  /** A leaf of the internal CA could not be renewed, or a managed certificate is unusable. */
  readonly onProblem: (host: string, error: unknown) => void;
}

export interface CertificateStore {
  /**
   * For configured hosts only: the caller has checked that. A promise only while the internal CA issues one.
   * `isListed`: an edge or endpoint has exactly this name; names below wildcards, which anybody can invent, never take
   * its slot.
   */
  certificateFor(host: string, isListed?: boolean): ServedCertificate | Promise<ServedCertificate>;
  /** These hosts are no longer served. Returns the certificates issued only for them. */
  forget(hosts: readonly string[]): readonly ServedCertificate[];
  close(): void;
}

/**
 * Selects a host's certificate: the best uploaded one, otherwise one that an ACME server issued, otherwise one of the
 * internal CA. A domain's policy can ask for one of the last two. Follows the configuration immediately.
 */
export function createCertificateStore({ records, ca, clock, onProblem }: CertificateStoreOptions): CertificateStore {
  const uploaded = new UploadedCertificates();
  const managed = new ManagedCertificates({ records, onProblem });
  const minted = new MintedLeaves({ ca, clock, onProblem });
  const kinds = [CERTIFICATE_KIND, DOMAIN_KIND];
  for (const kind of kinds) for (const record of records.all(kind)) uploaded.apply({ op: 'put', record });
  const unsubscribe = records.onChange((changes) => {
    for (const change of changes) uploaded.apply(change);
  }, kinds);
  const findManaged = (host: string, nowMs: number): ServedCertificate | null => {
    const pair = managed.find(host, nowMs);
    return pair === null ? null : { source: 'managed', ...pair };
  };
  const find = (host: string): ServedCertificate | null => {
    const nowMs = clock.nowMs();
    const authority = uploaded.authorityOf(host);
    if (authority === null) return uploaded.find(host, nowMs) ?? findManaged(host, nowMs);
    // Until an explicitly managed name has its certificate, an uploaded one is better than one that nobody trusts.
    return authority === MANAGED_AUTHORITY ? (findManaged(host, nowMs) ?? uploaded.find(host, nowMs)) : null;
  };
  return {
    certificateFor: (host, isListed = false) => find(host) ?? minted.get(host, isListed),
    forget: (hosts) => hosts.flatMap((host) => minted.forget(host)),
    close: () => {
      unsubscribe();
      managed.close();
    },
  };
}

const LEAF_DAYS = 90;
const RENEW_BEFORE_MS = 30 * 24 * 60 * 60 * 1000;
const RETRY_AFTER_MS = 60_000;
/** About 3 KB each, for names in the configuration: listed hosts, and wildcards. */
const MAX_LEAVES = 10_000;
/** Below a wildcard there are more hosts than memory. */
const MAX_INVENTED_LEAVES = 256;
/**
 * Issuing costs as much as a handshake, and anybody can request new names below a wildcard: requests beyond this are
 * rejected.
 */
const MAX_MINTING_BELOW_WILDCARDS = 64;
/** Names listed in the configuration are limited by it: they have turns of their own, and wait for one. */
const MAX_MINTING_LISTED = 16;
/** As many as there may be pending handshakes (`maxPending`). */
const MAX_LISTED_WAITING = 4096;

interface Entry {
  readonly certificate: ServedCertificate;
  renewAtMs: number;
}

interface MintedLeavesOptions {
  readonly ca: Pick<InternalCa, 'mintLeaf'>;
  readonly clock: Clock;
  /** A leaf could not be renewed; the old one is still presented. */
  readonly onProblem: (host: string, error: unknown) => void;
}

/**
 * Leaves of the internal CA, one per listed host. Names below a wildcard share the leaf of the wildcard, so that an
 * invented name costs no more than a handshake (8,000 of them took 236 MiB). Only below a single label each has its
 * own: curl and Chromium reject a certificate for `*.localhost`. Issued at the first request for a host, shared by
 * concurrent requests. Renewal runs in the background while handshakes still
 * present the old leaf.
 */
class MintedLeaves {
  readonly #options: MintedLeavesOptions;
  readonly #entries = new LruMap<string, Entry>(MAX_LEAVES);
  readonly #invented = new LruMap<string, Entry>(MAX_INVENTED_LEAVES);
  readonly #minting = new Map<string, Promise<ServedCertificate>>();
  readonly #listedTurns = new Turns(MAX_MINTING_LISTED, MAX_LISTED_WAITING);
  readonly #wildcardTurns = new Turns(MAX_MINTING_BELOW_WILDCARDS, 0);
  #serial = 0;

  constructor(options: MintedLeavesOptions) {
    this.#options = options;
  }

  /** `isListed`: an edge or endpoint has exactly this name, not only a wildcard above it. */
  get(host: string, isListed: boolean): ServedCertificate | Promise<ServedCertificate> {
    const nowMs = this.#options.clock.nowMs();
    const leaf = isListed ? { name: host, isInvented: false } : leafBelowWildcard(host);
    const entry = this.#entriesFor(leaf).get(leaf.name);
    if (entry === undefined || entry.certificate.notAfterMs <= nowMs) return this.#mintOnce(leaf);
    if (entry.renewAtMs <= nowMs) this.#renew(leaf, entry);
    return entry.certificate;
  }

  /**
   * The certificates of a host that is no longer served; below a wildcard, all of them. Most tunnel names are requested
   * only once.
   */
  forget(host: string): readonly ServedCertificate[] {
    const hosts = host.startsWith('*.') ? [host, ...this.#below(host.slice(1))] : [host];
    return [...new Set(hosts)].flatMap((name) => {
      const entries = [this.#entries.get(name), this.#invented.get(name)].filter((entry) => entry !== undefined);
      this.#entries.delete(name);
      this.#invented.delete(name);
      this.#minting.delete(name);
      return entries.map(({ certificate }) => certificate);
    });
  }

  #below(suffix: string): readonly string[] {
    return [...this.#entries.keys(), ...this.#invented.keys(), ...this.#minting.keys()].filter(
      (name) => name.endsWith(suffix) && !name.slice(0, -suffix.length).includes('.'),
    );
  }

  #entriesFor({ isInvented }: WantedLeaf): LruMap<string, Entry> {
    return isInvented ? this.#invented : this.#entries;
  }

  #renew(leaf: WantedLeaf, entry: Entry): void {
    // Set during the renewal too, so that no second one starts.
    entry.renewAtMs = this.#options.clock.nowMs() + RETRY_AFTER_MS;
    this.#mintOnce(leaf).catch((error: unknown) => this.#options.onProblem(leaf.name, error));
  }

  #mintOnce(leaf: WantedLeaf): Promise<ServedCertificate> {
    const { name, isInvented } = leaf;
    const underWay = this.#minting.get(name);
    if (underWay !== undefined) return underWay;
    const turns = isInvented ? this.#wildcardTurns : this.#listedTurns;
    if (turns.isFull) return Promise.reject(new Error('too many certificates are being made: try again later'));
    const minting = turns.run(() => this.#mint(leaf));
    this.#minting.set(name, minting);
    const settle = (certificate: ServedCertificate | null): void => {
      // The host was removed in the meantime: waiting callers get the certificate, but it is not kept.
      if (this.#minting.get(name) !== minting) return;
      this.#minting.delete(name);
      if (certificate === null) return;
      const renewAtMs = certificate.notAfterMs - RENEW_BEFORE_MS;
      this.#entriesFor(leaf).set(name, { certificate, renewAtMs });
    };
    minting.then(settle, () => settle(null));
    return minting;
  }

  async #mint({ name, isInvented }: WantedLeaf): Promise<ServedCertificate> {
    const leaf = await this.#options.ca.mintLeaf({ hosts: [name], ips: [], days: LEAF_DAYS });
    this.#serial += 1;
    return {
      identity: `internal ${name} ${this.#serial}`,
      source: 'internal',
      certificatePem: leaf.certificatePem,
      privateKeyPem: leaf.privateKeyPem,
      notAfterMs: leaf.notAfterMs,
      // A client that trusts the CA trusts any of its leaves: a restart and other nodes have their own for the same
      // name.
      ticketScope: `internal ${name} ${leaf.caPem}`,
      ...(isInvented && { isOfInventedName: true }),
    };
  }
}

interface WantedLeaf {
  readonly name: string;
  /** By a client: the configuration does not bound how many there are. */
  readonly isInvented: boolean;
}

function leafBelowWildcard(host: string): WantedLeaf {
  const parent = host.slice(host.indexOf('.') + 1);
  return parent.includes('.') ? { name: `*.${parent}`, isInvented: false } : { name: host, isInvented: true };
}

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
  /** The certificate was issued for a name that no edge lists: anybody can cause many of them. */
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
