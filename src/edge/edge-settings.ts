import type { UpstreamLimits } from '../upstream/upstream.ts';
import type { AdmissionLimits } from './admission.ts';
import type { ForwardingSettings } from './forwarded-headers.ts';
import type { HttpLimits } from './http/http-servers.ts';
import type { TlsLimits } from './tls/tls-limits.ts';

/** Limits and habits of the edge. */
export interface EdgeSettings {
  readonly http: HttpLimits;
  readonly admission: AdmissionLimits;
  readonly tls: Partial<TlsLimits>;
  readonly upstream: UpstreamLimits;
  readonly forwarding: ForwardingSettings;
  /** CIDR ranges of proxies whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[];
  /** Names of clients' headers that upstreams do not get, or prefixes that end in `*`. */
  readonly droppedHeaders: readonly string[];
  /** Ports that a request may name in Host; none: any. */
  readonly hostPorts: readonly number[];
}
