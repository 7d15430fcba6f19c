import { type AddressMatcher, cidrMatcher, parseAddress } from '../lib/cidr.ts';
import type { RequestHead } from './http/request-head.ts';

/** Believes X-Forwarded-For from trusted proxies only; the list is empty unless set. */
export class ClientAddresses {
  readonly #trusted: readonly AddressMatcher[];

  constructor(trustedProxies: readonly string[]) {
    this.#trusted = trustedProxies.map(cidrMatcher);
  }

  /** The last address in the chain that is not itself a trusted proxy: what stands before it, anybody may have written. */
  of(remoteAddress: string, head: RequestHead): string {
    if (this.chain(remoteAddress, head) === null) return remoteAddress;
    const hops = (head.forwardedFor ?? '').split(',').map((hop) => hop.trim());
    for (const hop of hops.reverse()) if (!this.#isTrusted(hop)) return hop;
    return hops.at(-1) ?? remoteAddress;
  }

  /** The chain as it came, if the peer is a trusted proxy and every hop is an address. */
  chain(remoteAddress: string, head: RequestHead): string | null {
    if (this.#trusted.length === 0 || head.forwardedFor === null || !this.#isTrusted(remoteAddress)) return null;
    const isWellFormed = head.forwardedFor.split(',').every((hop) => parseAddress(hop.trim()) !== null);
    return isWellFormed ? head.forwardedFor : null;
  }

  #isTrusted(text: string): boolean {
    const address = parseAddress(text);
    return address !== null && this.#trusted.some((matches) => matches(address));
  }
}
