import type { RequestHead } from '../http/request-head.ts';

export interface ForwardingSettings {
  /** Adds RFC 7239 `Forwarded` as well. */
  readonly addsForwarded: boolean;
}

/**
 * Headers that tell the upstream about the client. The client's own versions were removed, or came from a trusted
 * proxy.
 */
export function forwardedHeaders(
  into: string[],
  head: RequestHead,
  remoteAddress: string,
  runtime: {
    readonly scheme: 'http' | 'https';
    readonly forwarding: ForwardingSettings;
    trustedChain(remoteAddress: string, head: RequestHead): string | null;
  },
): void {
  const chain = runtime.trustedChain(remoteAddress, head);
  into.push('x-forwarded-for', chain === null ? remoteAddress : `${chain}, ${remoteAddress}`);
  into.push('x-forwarded-proto', runtime.scheme, 'x-forwarded-host', head.authority);
  if (!runtime.forwarding.addsForwarded) return;
  const before = chain === null ? '' : `${chain.split(', ').map(forwardedFor).join(', ')}, `;
  into.push('forwarded', `${before}${forwardedFor(remoteAddress)};host="${head.authority}";proto=${runtime.scheme}`);
}

/** RFC 7239 §6: an IPv6 address is written in brackets, and a value with brackets and colons is quoted. */
function forwardedFor(address: string): string {
  return `for=${address.includes(':') ? `"[${address}]"` : address}`;
}
