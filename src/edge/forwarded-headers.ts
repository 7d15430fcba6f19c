import type { RequestHead } from './http/request-head.ts';

export interface ForwardingSettings {
  /** Adds RFC 7239 `Forwarded` as well. */
  readonly addsForwarded: boolean;
}

/** What the upstream learns about the client. The client's own versions of these were taken out, or came from a trusted proxy. */
export function forwardedHeaders(
  into: string[],
  head: RequestHead,
  remoteAddress: string,
  runtime: {
    readonly forwarding: ForwardingSettings;
    trustedChain(remoteAddress: string, head: RequestHead): string | null;
  },
): void {
  const chain = runtime.trustedChain(remoteAddress, head);
  into.push('x-forwarded-for', chain === null ? remoteAddress : `${chain}, ${remoteAddress}`);
  into.push('x-forwarded-proto', 'https', 'x-forwarded-host', head.authority);
  if (!runtime.forwarding.addsForwarded) return;
  const node = remoteAddress.includes(':') ? `"[${remoteAddress}]"` : remoteAddress;
  into.push('forwarded', `for=${node};host="${head.authority}";proto=https`);
}
