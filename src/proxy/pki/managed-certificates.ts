import { createPrivateKey, hash, X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { Clock } from '../../kit/clock.ts';
import type { JsonObject } from '../../kit/json.ts';

const MANAGED_KIND = 'managed_certificate';
const KEY_POINTER = '/private_key';

interface ManagedRecord {
  readonly kind: string;
  readonly id: string;
  readonly doc: JsonObject;
  /** By JSON pointer, each as JSON text. */
  readonly secrets: Readonly<Record<string, string>> | null;
}

type ManagedRecordChange =
  | { readonly op: 'put'; readonly record: ManagedRecord }
  | { readonly op: 'delete'; readonly key: { readonly kind: string; readonly id: string } };

/** The replica implements this. */
export interface ManagedRecords {
  all(kind: string): Iterable<ManagedRecord>;
  onChange(listener: (changes: readonly ManagedRecordChange[]) => void, kinds: readonly string[]): () => void;
}

/** A certificate that an ACME server issued, with its key. */
interface ManagedPair {
  /** Equal only for the same certificate and key. */
  readonly identity: string;
  readonly certificatePem: string;
  readonly privateKeyPem: string;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

interface Entry {
  readonly hostname: string;
  readonly pair: ManagedPair;
  /** Null until it is first needed: checking thousands of keys at the start would delay it. */
  isUsable: boolean | null;
}

interface ManagedCertificatesOptions {
  readonly records: ManagedRecords;
  readonly onProblem: (host: string, error: unknown) => void;
}

/**
 * The current certificates of names under management. A record also changes with every step of a renewal; the entry
 * changes only with the certificate, so connections and sessions survive the steps.
 */
export class ManagedCertificates {
  readonly #onProblem: ManagedCertificatesOptions['onProblem'];
  readonly #byId = new Map<string, Entry>();
  readonly #byName = new Map<string, Entry>();
  readonly close: () => void;

  constructor({ records, onProblem }: ManagedCertificatesOptions) {
    this.#onProblem = onProblem;
    for (const record of records.all(MANAGED_KIND)) this.#apply({ op: 'put', record });
    this.close = records.onChange(
      (changes) => {
        for (const change of changes) this.#apply(change);
      },
      [MANAGED_KIND],
    );
  }

  /** The certificate of exactly this name, else of the wildcard above it. Null: none is valid now. */
  find(host: string, nowMs: number): ManagedPair | null {
    if (this.#byName.size === 0) return null;
    return this.#valid(host, nowMs) ?? this.#valid(`*${host.slice(host.indexOf('.'))}`, nowMs);
  }

  #valid(name: string, nowMs: number): ManagedPair | null {
    const entry = this.#byName.get(name);
    if (entry === undefined || !(entry.pair.notBeforeMs <= nowMs && nowMs < entry.pair.notAfterMs)) return null;
    entry.isUsable ??= this.#check(entry);
    return entry.isUsable ? entry.pair : null;
  }

  #check({ hostname, pair }: Entry): boolean {
    try {
      const isMatch = new X509Certificate(pair.certificatePem).checkPrivateKey(createPrivateKey(pair.privateKeyPem));
      if (!isMatch) throw new Error('the private key does not match the certificate');
      return true;
    } catch (error) {
      this.#onProblem(hostname, error);
      return false;
    }
  }

  #apply(change: ManagedRecordChange): void {
    const { kind, id } = change.op === 'put' ? change.record : change.key;
    if (kind !== MANAGED_KIND) return;
    const before = this.#byId.get(id);
    const entry = change.op === 'put' ? readEntry(change.record) : null;
    if (before !== undefined && entry?.pair.identity === before.pair.identity && entry.hostname === before.hostname)
      return;
    if (before !== undefined) {
      this.#byId.delete(id);
      // When everything is reloaded, the successor may be reported before this one's removal.
      if (this.#byName.get(before.hostname) === before) this.#byName.delete(before.hostname);
    }
    if (entry === null) return;
    this.#byId.set(id, entry);
    this.#byName.set(entry.hostname, entry);
  }
}

/** Null while there is no certificate. */
function readEntry({ doc, secrets }: ManagedRecord): Entry | null {
  const { hostname, certificate_pem: certificatePem, not_before: notBefore, not_after: notAfter } = doc;
  const keyText = secrets?.[KEY_POINTER];
  const isWhole = [hostname, certificatePem, notBefore, notAfter].every((value) => typeof value === 'string');
  if (!isWhole || keyText === undefined) return null;
  const privateKeyPem = JSON.parse(keyText) as string;
  const pair: ManagedPair = {
    identity: `managed ${hash('sha256', `${certificatePem as string}${privateKeyPem}`)}`,
    certificatePem: certificatePem as string,
    privateKeyPem,
    notBeforeMs: Date.parse(notBefore as string),
    notAfterMs: Date.parse(notAfter as string),
  };
  return { hostname: (hostname as string).toLowerCase(), pair, isUsable: null };
}

interface ManagedContextsOptions {
  readonly records: ManagedRecords;
  readonly clock: Clock;
  /** A listener's own names: it presents no other certificate, even if a client asks for one. */
  readonly names: readonly string[];
  readonly onProblem: (error: unknown) => void;
}

/** Selects certificates from ACME servers for a listener of our own. */
export class ManagedContexts {
  readonly #clock: Clock;
  readonly #onProblem: (error: unknown) => void;
  readonly #names: ReadonlySet<string>;
  readonly #managed: ManagedCertificates;
  /** By name: at most one per own name. */
  readonly #contexts = new Map<string, { readonly identity: string; readonly context: SecureContext }>();

  constructor({ records, clock, names, onProblem }: ManagedContextsOptions) {
    this.#clock = clock;
    this.#onProblem = onProblem;
    this.#names = new Set(names.map((name) => name.toLowerCase()));
    this.#managed = new ManagedCertificates({ records, onProblem: (_host, error) => onProblem(error) });
  }

  contextFor(serverName: string): SecureContext | undefined {
    const name = serverName.toLowerCase();
    if (!this.#names.has(name)) return undefined;
    const pair = this.#managed.find(name, this.#clock.nowMs());
    if (pair === null) return undefined;
    const known = this.#contexts.get(name);
    if (known?.identity === pair.identity) return known.context;
    try {
      const context = createSecureContext({
        cert: pair.certificatePem,
        key: pair.privateKeyPem,
        minVersion: 'TLSv1.2',
      });
      this.#contexts.set(name, { identity: pair.identity, context });
      return context;
    } catch (error) {
      // The runtime calls this inside a handshake: an exception would end the process.
      this.#onProblem(error);
      return undefined;
    }
  }

  close(): void {
    this.#managed.close();
  }
}
