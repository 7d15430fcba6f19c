import type { LookupFunction } from 'node:net';
import type { EndpointModules } from '../tunnel/messages.ts';
import type { AgentEvent } from './events.ts';
import type { ObserveExchange } from './exchange-observer.ts';
import type { AgentTimings } from './timings.ts';

export interface TunnelSpec {
  readonly name?: string | undefined;
  /** Exactly one of `proto` and `labels`. */
  readonly proto?: 'http' | 'https' | 'tcp' | 'tls' | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Where the local service is: `8080`, `host:port`, or a URL with `http`, `https`, `h2c` or `tcp`. */
  readonly addr: string | number;
  /** Host that is wanted, for http, https and tls. */
  readonly domain?: string | undefined;
  /** Port that is wanted, for tcp. */
  readonly port?: number | undefined;
  readonly metadata?: string | undefined;
  /** What the local service sees as Host: the public one (default), its own, or this one. */
  readonly hostHeader?: 'preserve' | 'rewrite' | (string & {}) | undefined;
  readonly modules?: EndpointModules | undefined;
  readonly upstreamTls?: UpstreamTlsOptions | undefined;
  /** Whether `observe` is asked about this tunnel's requests; by default it is. */
  readonly inspect?: boolean | undefined;
}

/** How the certificate of a local service behind `https://` is judged. */
export interface UpstreamTlsOptions {
  /** PEM certificates to trust instead of the system's. */
  readonly ca?: string | readonly string[] | undefined;
  /** The name that its certificate must have, if it is not the one in `addr`. */
  readonly servername?: string | undefined;
  /** Takes any certificate. Whoever is between the agent and its service can then read and change everything. */
  readonly insecureSkipVerify?: boolean | undefined;
}

export interface AgentOptions {
  /** `host:port` of the server's `tunnel_listen`. */
  readonly serverAddr: string;
  readonly authtoken: string;
  /** PEM certificates to trust instead of the system's. */
  readonly ca?: string | readonly string[] | undefined;
  /** The name that the server's certificate must have, if it is not the one that is dialled. */
  readonly servername?: string | undefined;
  /** How the server's name is resolved; as the system does it by default. Asked anew for every connection. */
  readonly lookup?: LookupFunction | undefined;
  readonly metadata?: string | undefined;
  /** Whether the server may stop, restart or update this agent; by default it may. */
  readonly remoteManagement?: boolean | undefined;
  /** At most so many connections, whatever the server proposes. */
  readonly connections?: number | undefined;
  readonly tunnels: readonly TunnelSpec[];
  readonly onEvent?: ((event: AgentEvent) => void) | undefined;
  /** Asked about each HTTP request that is forwarded; for an inspector. */
  readonly observe?: ObserveExchange | undefined;
  readonly agentVersion?: string | undefined;
  readonly timings?: Partial<AgentTimings> | undefined;
}
