import type { DockerConfig } from '../docker/docker-config.ts';
import type { ModuleConfigs } from '../modules/module-config.ts';

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
  readonly docker: DockerConfig | null;
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
  /** Requested modules, by name. */
  readonly modules: ModuleConfigs;
  readonly upstreamTls: UpstreamTlsConfig | null;
}

/** How the certificate of a local `https://` service is verified. */
export interface UpstreamTlsConfig {
  /** File names. */
  readonly rootCas: readonly string[];
  readonly serverName: string | null;
  readonly insecureSkipVerify: boolean;
}
