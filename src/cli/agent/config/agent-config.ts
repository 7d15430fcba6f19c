/** What an agent's configuration file says, decoded. Null is what was left out. */
export interface AgentConfig {
  readonly authtoken: string | null;
  readonly serverAddr: string | null;
  /** Files. */
  readonly rootCas: readonly string[];
  readonly metadata: string | null;
  readonly remoteManagement: boolean | null;
  /** `false` switches the inspector off. */
  readonly inspectAddr: string | false | null;
  readonly tunnels: readonly TunnelConfig[];
}

export type TunnelProto = 'http' | 'tcp' | 'tls';
export type TunnelScheme = 'http' | 'https';

/** One tunnel as a person describes it, in the file or by flags. */
export interface TunnelConfig {
  readonly name: string;
  /** Port, `host:port` or URL. */
  readonly addr: string;
  /** Either this or labels. */
  readonly proto: TunnelProto | null;
  readonly labels: Readonly<Record<string, string>> | null;
  /** What `http` is published on; null is https alone. */
  readonly schemes: readonly TunnelScheme[] | null;
  readonly domain: string | null;
  readonly remotePort: number | null;
  readonly metadata: string | null;
  readonly hostHeader: string | null;
  readonly inspect: boolean;
  readonly oidc: OidcConfig | null;
  readonly ipRestriction: IpRestrictionConfig | null;
  /** Files. */
  readonly mutualTlsCas: readonly string[];
  readonly compression: boolean;
  readonly upstreamTls: UpstreamTlsConfig | null;
}

/** By the names of the API's module. */
export interface OidcConfig {
  readonly issuer: string;
  readonly client_id: string;
  readonly client_secret?: string;
  readonly scopes?: readonly string[];
  readonly options_passthrough?: boolean;
  readonly cookie_prefix?: string;
  readonly inactivity_timeout?: number;
  readonly maximum_duration?: number;
}

export interface IpRestrictionConfig {
  readonly allowCidrs: readonly string[];
  readonly denyCidrs: readonly string[];
}

/** How the certificate of a local service behind `https://` is judged. */
export interface UpstreamTlsConfig {
  /** Files. */
  readonly rootCas: readonly string[];
  readonly serverName: string | null;
  readonly insecureSkipVerify: boolean;
}
