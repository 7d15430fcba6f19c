import type { Config } from '../../config/schema.ts';
import type { EdgeSettings } from '../../edge/edge-settings.ts';

/** Header in which the page of the console sends its token. */
const TOKEN_HEADER = 'postern-console-token';
const SECOND = 1000;
const UPSTREAM_KEEP_ALIVE_MS = 60_000;

/** The part of the settings that the data plane uses, in its own terms. */
export function edgeSettings(config: Config): EdgeSettings {
  return {
    http: {
      maxHeaderBytes: config.edge_header_bytes,
      maxHeaderCount: config.edge_header_count,
      headersTimeoutMs: config.edge_header_timeout * SECOND,
      requestTimeoutMs: config.edge_request_timeout * SECOND,
      keepAliveTimeoutMs: config.edge_idle_timeout * SECOND,
      sendTimeoutMs: config.edge_send_timeout * SECOND,
      maxConcurrentStreams: config.edge_streams,
    },
    admission: {
      maxRequests: config.edge_requests_in_flight,
      maxStreams: config.edge_streams_in_flight,
      addressSharePercent: config.edge_address_share,
      minBodyBytesPerSecond: config.edge_scarce_body_rate,
    },
    tls: { maxConnectionsPerAddress: config.edge_connections_per_address },
    strictTransportSecurity: {
      maxAgeSeconds: config.hsts_max_age,
      includesSubdomains: config.hsts_include_subdomains,
      isPreloaded: config.hsts_preload,
    },
    upstream: {
      connectTimeoutMs: config.upstream_connect_timeout * SECOND,
      responseTimeoutMs: config.upstream_response_timeout * SECOND,
      idleTimeoutMs: config.upstream_idle_timeout * SECOND,
      keepAliveMs: UPSTREAM_KEEP_ALIVE_MS,
      maxIdleConnections: 256,
      maxHeaderBytes: 131_072,
      maxHeaderCount: 500,
    },
    forwarding: { addsForwarded: config.forwarded_header },
    recording: { headers: config.request_history_headers, keepsQuery: config.request_history_query },
    marksForwarded: config.request_id_header,
    trustedProxies: config.trusted_proxies,
    droppedHeaders: config.drop_request_headers,
    keptHeaders: config.api_behind_edge ? [TOKEN_HEADER] : [],
    hostPorts: config.edge_host_ports,
  };
}
