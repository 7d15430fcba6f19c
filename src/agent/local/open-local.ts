import { localhostLookup } from '../../lib/net/localhost-lookup.ts';
import { DeadlineTicker } from '../../upstream/deadline-ticker.ts';
import { createDial, type Dial } from '../../upstream/dial.ts';
import { Http1Upstream } from '../../upstream/http1-upstream.ts';
import { NegotiatedUpstream } from '../../upstream/negotiated-upstream.ts';
import type { Upstream, UpstreamLimits } from '../../upstream/upstream.ts';
import { upstreamSecureContext } from '../../upstream/upstream-secure-context.ts';
import type { UpstreamTlsOptions } from '../options.ts';
import type { LocalAddress } from './local-address.ts';

/** The edge has shorter timeouts and resets the request when they pass. These only bound leaks. */
export const LOCAL_LIMITS: UpstreamLimits = {
  connectTimeoutMs: 10_000,
  responseTimeoutMs: 600_000,
  idleTimeoutMs: 3_600_000,
  keepAliveMs: 30_000,
  maxIdleConnections: 256,
  maxHeaderBytes: 131_072,
  maxHeaderCount: 500,
};

const ticker = new DeadlineTicker();

/** The local HTTP service of a tunnel. It does not connect yet. */
export function openLocal(address: LocalAddress, tls: UpstreamTlsOptions | undefined): Upstream {
  const { scheme, host, port, hostport } = address;
  const isSecure = scheme === 'https';
  const dial = createDial({
    host,
    port,
    tls: isSecure
      ? {
          servername: tls?.servername ?? host,
          takesAnyCertificate: tls?.insecureSkipVerify === true,
          context: upstreamSecureContext(tls?.ca),
        }
      : null,
    connectTimeoutMs: LOCAL_LIMITS.connectTimeoutMs,
    // The user of this machine chose the address.
    isAddressAllowed: () => true,
    lookup: localhostLookup,
  });
  const parts = { limits: LOCAL_LIMITS, ticker };
  if (scheme === 'http' || scheme === 'tcp') return new Http1Upstream({ ...parts, dial });
  return new NegotiatedUpstream({
    ...parts,
    dial: isSecure ? dial : withPriorKnowledge(dial),
    authority: `${isSecure ? 'https' : 'http'}://${hostport}`,
  });
}

/** RFC 9113 §3.3: HTTP/2 without TLS uses prior knowledge instead of negotiation. */
function withPriorKnowledge(dial: Dial): Dial {
  return (purpose, handler) =>
    dial({ ...purpose, isStream: true }, (dialled, failure) => {
      const protocol = purpose.alpn.includes('h2') ? 'h2' : 'http/1.1';
      handler(dialled === null ? null : { ...dialled, protocol }, failure);
    });
}
