import { type AddressMatcher, cidrMatcher, parseAddress, parseWrittenAddress } from '../lib/cidr.ts';
import type { RequestHead } from './http/request-head.ts';

/** Stands for a client whose trusted proxy did not write an address; no rule of addresses lets it through. */
const UNKNOWN = 'unknown';

/** Believes X-Forwarded-For from trusted proxies only; the list is empty unless set. */
export class ClientAddresses {
  readonly #trusted: readonly AddressMatcher[];

  constructor(trustedProxies: readonly string[]) {
    this.#trusted = trustedProxies.map(cidrMatcher);
  }

  /** The last address in the chain that is not itself a trusted proxy: what stands before it, anybody may have written. */
  of(remoteAddress: string, head: RequestHead): string {
    return this.#believed(remoteAddress, head)?.[0] ?? remoteAddress;
  }

  /** The part of the chain that is believed, the client first, if the peer is a trusted proxy. */
  chain(remoteAddress: string, head: RequestHead): string | null {
    return this.#believed(remoteAddress, head)?.join(', ') ?? null;
  }

  /**
   * Read from the right, and no further than the client: were the rest looked at, somebody could write nonsense there, have the
   * whole chain thrown away, and pass for the proxy.
   */
  #believed(remoteAddress: string, head: RequestHead): readonly string[] | null {
    if (this.#trusted.length === 0 || head.forwardedFor === null || !this.isTrusted(remoteAddress)) return null;
    const hops = head.forwardedFor.split(',').map((hop) => parseWrittenAddress(hop.trim()));
    let at = hops.length - 1;
    while (at > 0 && this.#isProxy(hops[at] ?? null)) at -= 1;
    return hops.slice(at).map((hop) => hop?.toString() ?? UNKNOWN);
  }

  /** Whether the peer of a connection is a trusted proxy. */
  isTrusted(remoteAddress: string): boolean {
    return this.#isProxy(parseAddress(remoteAddress));
  }

  #isProxy(address: ReturnType<typeof parseAddress>): boolean {
    return address !== null && this.#trusted.some((matches) => matches(address));
  }
}
