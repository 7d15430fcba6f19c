import type { LookupFunction } from 'node:net';
import type { EndpointModules } from '../tunnel/messages.ts';
import type { AgentEvent } from './events.ts';
import type { ObserveExchange } from './exchange-observer.ts';
import type { AgentTimings } from './timings.ts';

export interface TunnelSpec {
  readonly name?: string | undefined;
  /** Set exactly one of `proto` and `labels`. */
  readonly proto?: 'http' | 'https' | 'tcp' | 'tls' | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /**
   * Address of the local service: `8080`, `host:port`, or a URL with `http`, `https`, `h2c` or `tcp`. Several, of one
   * scheme: replicas that share the requests.
   */
  readonly addr: string | number | readonly string[];
  /** Requested host, for http, https and tls. */
  readonly domain?: string | undefined;
  /** Requested port, for tcp. */
  readonly port?: number | undefined;
  readonly metadata?: string | undefined;
  /** The Host that the local service sees: the public one (default), its own, or this value. */
  readonly hostHeader?: 'preserve' | 'rewrite' | (string & {}) | undefined;
  readonly modules?: EndpointModules | undefined;
  readonly upstreamTls?: UpstreamTlsOptions | undefined;
  /** Whether `observe` is called for this tunnel's requests. Default: true. */
  readonly inspect?: boolean | undefined;
}

/** How the certificate of a local `https://` service is verified. */
export interface UpstreamTlsOptions {
  /** PEM certificates to trust instead of the system's. */
  readonly ca?: string | readonly string[] | undefined;
  /** The name that its certificate must contain, if different from the one in `addr`. */
  readonly servername?: string | undefined;
  /** Accepts any certificate. An attacker between the agent and its service can then read and change everything. */
  readonly insecureSkipVerify?: boolean | undefined;
}

export interface AgentOptions {
  /** `host:port` of the server's `tunnel_listen`. */
  readonly serverAddr: string;
  readonly authtoken: string;
  /** PEM certificates to trust instead of the system's. */
  readonly ca?: string | readonly string[] | undefined;
  /** The name that the server's certificate must contain, if different from the dialled one. */
  readonly servername?: string | undefined;
  /** Resolves the server's name, by default as the system does. Called for every connection. */
  readonly lookup?: LookupFunction | undefined;
  readonly metadata?: string | undefined;
  /** Whether the server may stop, restart or update this agent. Default: true. */
  readonly remoteManagement?: boolean | undefined;
  /** Upper limit of connections, whatever the server proposes. */
  readonly connections?: number | undefined;
  readonly tunnels: readonly TunnelSpec[];
  /** Tunnels come and go: the agent runs on without any, and when the server refused all of them. Default: false. */
  readonly isOpenEnded?: boolean | undefined;
  readonly onEvent?: ((event: AgentEvent) => void) | undefined;
  /** Called for each forwarded HTTP request; used by the inspector. */
  readonly observe?: ObserveExchange | undefined;
  readonly agentVersion?: string | undefined;
  readonly timings?: Partial<AgentTimings> | undefined;
}
