import { type AddressMatcher, cidrMatcher, parseAddress, parseWrittenAddress } from '../../lib/net/cidr.ts';
import type { RequestHead } from '../http/request-head.ts';

/** Used when a trusted proxy did not send an address; no address rule matches it. */
const UNKNOWN = 'unknown';

/** Application gateways write the port of the client, too. Without brackets, an IPv6 address cannot have one. */
const WITH_PORT = /^(?:([\d.]+)|\[([^\]]*)\])(?::\d{1,5})?$/;

/** Trusts X-Forwarded-For from trusted proxies only; the list is empty unless set. */
export class ClientAddresses {
  readonly #trusted: readonly AddressMatcher[];

  constructor(trustedProxies: readonly string[]) {
    this.#trusted = trustedProxies.map(cidrMatcher);
  }

  /** The last address in the chain that is not a trusted proxy: anybody may have written the addresses before it. */
  of(remoteAddress: string, head: RequestHead): string {
    return this.#believed(remoteAddress, head)?.[0] ?? remoteAddress;
  }

  /** The trusted part of the chain, client first, if the peer is a trusted proxy. */
  chain(remoteAddress: string, head: RequestHead): string | null {
    return this.#believed(remoteAddress, head)?.join(', ') ?? null;
  }

  /**
   * Read from the right, and no further than the client: if the rest were validated, a client could write nonsense
   * there, have the whole chain discarded, and be taken for the proxy.
   */
  #believed(remoteAddress: string, head: RequestHead): readonly string[] | null {
    if (this.#trusted.length === 0 || head.forwardedFor === null || !this.isTrusted(remoteAddress)) return null;
    const hops = head.forwardedFor.split(',');
    const believed: string[] = [];
    for (let at = hops.length - 1; at >= 0; at -= 1) {
      const address = parseWrittenAddress(withoutPort((hops[at] as string).trim()));
      believed.push(address?.toString() ?? UNKNOWN);
      if (!this.#isProxy(address)) break;
    }
    return believed.reverse();
  }

  /** Whether the peer of a connection is a trusted proxy. */
  isTrusted(remoteAddress: string): boolean {
    return this.#isProxy(parseAddress(remoteAddress));
  }

  #isProxy(address: ReturnType<typeof parseAddress>): boolean {
    return address !== null && this.#trusted.some((matches) => matches(address));
  }
}

function withoutPort(hop: string): string {
  const named = WITH_PORT.exec(hop);
  return named?.[1] ?? named?.[2] ?? hop;
}
