/** An agent's configuration file, decoded. Null means absent. */
export interface AgentConfig {
  readonly authtoken: string | null;
  readonly serverAddr: string | null;
  /** File names. */
  readonly rootCas: readonly string[];
  readonly metadata: string | null;
  readonly remoteManagement: boolean | null;
  /** `false` disables the inspector. */
  readonly inspectAddr: string | false | null;
  readonly tunnels: readonly TunnelConfig[];
}

export type TunnelProto = 'http' | 'tcp' | 'tls';
export type TunnelScheme = 'http' | 'https';

/** One tunnel as the user describes it, in the file or by flags. */
export interface TunnelConfig {
  readonly name: string;
  /** Port, `host:port` or URL. */
  readonly addr: string;
  /** Mutually exclusive with labels. */
  readonly proto: TunnelProto | null;
  readonly labels: Readonly<Record<string, string>> | null;
  /** Schemes that `http` is published on; null means https alone. */
  readonly schemes: readonly TunnelScheme[] | null;
  readonly domain: string | null;
  readonly remotePort: number | null;
  readonly metadata: string | null;
  readonly hostHeader: string | null;
  readonly inspect: boolean;
  readonly oidc: OidcConfig | null;
  readonly ipRestriction: IpRestrictionConfig | null;
  /** File names. */
  readonly mutualTlsCas: readonly string[];
  readonly compression: boolean;
  readonly upstreamTls: UpstreamTlsConfig | null;
}

/** With the field names of the API's module. */
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

/** How the certificate of a local `https://` service is verified. */
export interface UpstreamTlsConfig {
  /** File names. */
  readonly rootCas: readonly string[];
  readonly serverName: string | null;
  readonly insecureSkipVerify: boolean;
}
