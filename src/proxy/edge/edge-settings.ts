import type { FolderBounds } from '../../kit/files/open-file.ts';
import type { ReservedNames } from '../../modules/reserved-names.ts';
import type { UpstreamLimits } from '../upstream/upstream.ts';
import type { AdmissionLimits } from './admission.ts';
import type { StrictTransportSecuritySettings } from './answers/strict-transport-security.ts';
import type { ForwardingSettings } from './forwarding/forwarded-request.ts';
import { DroppedHeaders, type HeadRules } from './http/request-head.ts';
import type { HttpLimits } from './http/sweep.ts';
import type { RecordingSettings } from './reports/request-reports.ts';
import type { TlsLimits } from './tls/tls-ports.ts';

/** Limits and behaviour of the edge. */
export interface EdgeSettings {
  readonly http: HttpLimits;
  readonly admission: AdmissionLimits;
  readonly tls: Partial<TlsLimits>;
  readonly upstream: UpstreamLimits;
  /** Folders that may be served, and those of them that never are. Absent: none. */
  readonly folders?: Pick<FolderBounds, 'roots' | 'forbidden'>;
  /** Absent: no header. */
  readonly strictTransportSecurity?: StrictTransportSecuritySettings;
  readonly forwarding: ForwardingSettings;
  /** What the history keeps of a request; absent: no header, no query. */
  readonly recording?: RecordingSettings;
  /** Whether responses of upstreams get Postern-Request-Id. Absent: they do. */
  readonly marksForwarded?: boolean;
  /** CIDR ranges of proxies whose X-Forwarded-For is trusted. */
  readonly trustedProxies: readonly string[];
  /** Names of client headers that upstreams do not receive, or prefixes that end in `*`. */
  readonly droppedHeaders: readonly string[];
  /** Names that pass although the edge drops their prefix: for the console behind the edge. */
  readonly keptHeaders?: readonly string[];
  /** Ports allowed in a request's Host; empty: any. */
  readonly hostPorts: readonly number[];
}

/** The rules for heads that settings and modules make. */
export function headRules(
  { droppedHeaders, keptHeaders = [], hostPorts }: Pick<EdgeSettings, 'droppedHeaders' | 'keptHeaders' | 'hostPorts'>,
  reserved: Pick<ReservedNames, 'headers'>,
): HeadRules {
  return {
    dropped: new DroppedHeaders(droppedHeaders, reserved.headers, keptHeaders),
    hostPorts: hostPorts.length === 0 ? null : new Set(hostPorts),
  };
}
