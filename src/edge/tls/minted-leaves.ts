import type { Clock } from '../../lib/clock.ts';
import { LruMap } from '../../lib/lru-map.ts';
import type { InternalCa } from '../../pki/internal-ca.ts';
import { MintingSlots } from './minting-slots.ts';
import type { ServedCertificate } from './served-certificate.ts';

const LEAF_DAYS = 90;
const RENEW_BEFORE_MS = 30 * 24 * 60 * 60 * 1000;
const RETRY_AFTER_MS = 60_000;
/** About 3 KB each. Below a wildcard there are more hosts than memory. */
const MAX_LEAVES = 10_000;
/**
 * Issuing costs as much as a handshake, and anybody can request new names below a wildcard: requests beyond this are
 * rejected.
 */
const MAX_MINTING_BELOW_WILDCARDS = 64;
/** Names listed in the configuration are limited by it: they have their own slots, and wait for one. */
const MAX_MINTING_LISTED = 16;
/** As many as there may be pending handshakes (`maxPending`). */
const MAX_LISTED_WAITING = 4096;

interface Entry {
  readonly certificate: ServedCertificate;
  renewAtMs: number;
}

export interface MintedLeavesOptions {
  readonly ca: Pick<InternalCa, 'mintLeaf'>;
  readonly clock: Clock;
  /** A leaf could not be renewed; the old one is still presented. */
  readonly onProblem: (host: string, error: unknown) => void;
}

/**
 * Leaves of the internal CA, one per host: curl and Chromium reject a certificate for `*.localhost`. Issued at the
 * first request for a host, shared by concurrent requests. Renewal runs in the background while handshakes still
 * present the old leaf.
 */
export class MintedLeaves {
  readonly #options: MintedLeavesOptions;
  readonly #entries = new LruMap<string, Entry>(MAX_LEAVES);
  readonly #minting = new Map<string, Promise<ServedCertificate>>();
  readonly #listedSlots = new MintingSlots(MAX_MINTING_LISTED, MAX_LISTED_WAITING);
  readonly #wildcardSlots = new MintingSlots(MAX_MINTING_BELOW_WILDCARDS, 0);
  #serial = 0;

  constructor(options: MintedLeavesOptions) {
    this.#options = options;
  }

  /** `isListed`: an edge or endpoint has exactly this name, not only a wildcard above it. */
  get(host: string, isListed: boolean): ServedCertificate | Promise<ServedCertificate> {
    const nowMs = this.#options.clock.nowMs();
    const entry = this.#entries.get(host);
    if (entry === undefined || entry.certificate.notAfterMs <= nowMs) return this.#mintOnce(host, isListed);
    if (entry.renewAtMs <= nowMs) this.#renew(host, isListed, entry);
    return entry.certificate;
  }

  /**
   * The certificates of a host that is no longer served; below a wildcard, all of them. Most tunnel names are requested
   * only once.
   */
  forget(host: string): readonly ServedCertificate[] {
    const hosts = host.startsWith('*.') ? this.#below(host.slice(1)) : [host];
    return hosts.flatMap((name) => {
      const entry = this.#entries.get(name);
      this.#entries.delete(name);
      this.#minting.delete(name);
      return entry === undefined ? [] : [entry.certificate];
    });
  }

  #below(suffix: string): readonly string[] {
    return [...this.#entries.keys(), ...this.#minting.keys()].filter(
      (name) => name.endsWith(suffix) && !name.slice(0, -suffix.length).includes('.'),
    );
  }

  #renew(host: string, isListed: boolean, entry: Entry): void {
    // Set during the renewal too, so that no second one starts.
    entry.renewAtMs = this.#options.clock.nowMs() + RETRY_AFTER_MS;
    this.#mintOnce(host, isListed).catch((error: unknown) => this.#options.onProblem(host, error));
  }

  #mintOnce(host: string, isListed: boolean): Promise<ServedCertificate> {
    const underWay = this.#minting.get(host);
    if (underWay !== undefined) return underWay;
    const slots = isListed ? this.#listedSlots : this.#wildcardSlots;
    const minting = slots.run(() => this.#mint(host));
    this.#minting.set(host, minting);
    const settle = (certificate: ServedCertificate | null): void => {
      // The host was removed in the meantime: waiting callers get the certificate, but it is not kept.
      if (this.#minting.get(host) !== minting) return;
      this.#minting.delete(host);
      if (certificate !== null) this.#keep(host, certificate);
    };
    minting.then(settle, () => settle(null));
    return minting;
  }

  async #mint(host: string): Promise<ServedCertificate> {
    const leaf = await this.#options.ca.mintLeaf({ hosts: [host], ips: [], days: LEAF_DAYS });
    this.#serial += 1;
    return {
      identity: `internal ${host} ${this.#serial}`,
      source: 'internal',
      certificatePem: leaf.certificatePem,
      privateKeyPem: leaf.privateKeyPem,
      notAfterMs: leaf.notAfterMs,
    };
  }

  #keep(host: string, certificate: ServedCertificate): void {
    this.#entries.set(host, { certificate, renewAtMs: certificate.notAfterMs - RENEW_BEFORE_MS });
  }
}
