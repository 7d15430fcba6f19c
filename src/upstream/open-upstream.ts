import type { LookupFunction } from 'node:net';
import type { SharedPlaces } from '../lib/net/shared-places.ts';
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
  /** Called with each address before connecting to it. */
  isAddressAllowed(ip: string): boolean;
  /** Whether one more connection may be opened. Absent: always. */
  readonly hasRoom?: (() => boolean) | undefined;
  /** Connections to all upstreams, which visitors share. Absent: there are enough. */
  readonly connections?: SharedPlaces | undefined;
  readonly lookup?: LookupFunction | undefined;
  /** Share one ticker among many upstreams to use a single timer. */
  readonly ticker?: DeadlineTicker | undefined;
}

/** Does not connect until the first request. */
export function openUpstream(options: OpenUpstreamOptions): Upstream {
  const { host, port, tls, limits, lookup, connections } = options;
  const ticker = options.ticker ?? new DeadlineTicker();
  const dial = createDial({
    host,
    port,
    tls: tls === null ? null : { servername: tls.servername, context: upstreamSecureContext(tls.ca) },
    connectTimeoutMs: limits.connectTimeoutMs,
    isAddressAllowed: (ip) => options.isAddressAllowed(ip),
    hasRoom: options.hasRoom,
    lookup,
  });
  return tls === null
    ? new Http1Upstream({ limits, ticker, dial, connections })
    : new NegotiatedUpstream({
        limits,
        ticker,
        dial,
        connections,
        authority: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
      });
}
