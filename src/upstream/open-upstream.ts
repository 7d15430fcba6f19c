import type { LookupFunction } from 'node:net';
import { DeadlineTicker } from './deadline-ticker.ts';
import { createDial } from './dial.ts';
import { Http1Upstream } from './http1-upstream.ts';
import { NegotiatedUpstream } from './negotiated-upstream.ts';
import type { Upstream, UpstreamLimits } from './upstream.ts';
import { upstreamSecureContext } from './upstream-secure-context.ts';

export interface OpenUpstreamOptions {
  readonly host: string;
  readonly port: number;
  /** Null for plain HTTP/1.1. `ca`: PEM certificates to trust instead of the system's. */
  readonly tls: { readonly servername: string; readonly ca?: string | readonly string[] | undefined } | null;
  readonly limits: UpstreamLimits;
  /** Asked with each address that a connection is about to be made to. */
  isAddressAllowed(ip: string): boolean;
  readonly lookup?: LookupFunction | undefined;
  /** Shared by many upstreams, it makes one timer do for all. */
  readonly ticker?: DeadlineTicker | undefined;
}

/** Connects to nothing yet: that happens with the first request. */
export function openUpstream(options: OpenUpstreamOptions): Upstream {
  const { host, port, tls, limits, lookup } = options;
  const ticker = options.ticker ?? new DeadlineTicker();
  const dial = createDial({
    host,
    port,
    tls: tls === null ? null : { servername: tls.servername, context: upstreamSecureContext(tls.ca) },
    connectTimeoutMs: limits.connectTimeoutMs,
    isAddressAllowed: (ip) => options.isAddressAllowed(ip),
    lookup,
  });
  return tls === null
    ? new Http1Upstream({ limits, ticker, dial })
    : new NegotiatedUpstream({
        limits,
        ticker,
        dial,
        authority: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
      });
}
