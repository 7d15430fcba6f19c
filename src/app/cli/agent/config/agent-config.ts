import type { ModuleConfigs } from '../module-forms.ts';

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

type TunnelProto = 'http' | 'tcp' | 'tls';
type TunnelScheme = 'http' | 'https';

/** One tunnel as the user describes it, in the file or by flags. */
export interface TunnelConfig {
  readonly name: string;
  /** Port, `host:port` or URL; empty for a folder. */
  readonly addr: string;
  /** A folder of this machine instead of an address. */
  readonly files: FilesConfig | null;
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

/** A folder to serve; the files are named by their paths in it. */
export interface FilesConfig {
  /** As written: relative to the file of the agent, or to the working directory. */
  readonly folder: string;
  readonly fallback: string | null;
  readonly notFoundPage: string | null;
  readonly listing: boolean;
}

/** How the certificate of a local `https://` service is verified. */
export interface UpstreamTlsConfig {
  /** File names. */
  readonly rootCas: readonly string[];
  readonly serverName: string | null;
  readonly insecureSkipVerify: boolean;
}

/** The section `docker` of an agent's file. */
export interface DockerConfig {
  /** Null: `DOCKER_HOST`, or the first usual socket that exists. */
  readonly socket: string | null;
  readonly defaults: DockerDefaults;
  /** `NAME=VALUE` that several services may have. Any other label belongs to one service. */
  readonly sharedLabels: readonly string[];
}

/** What every container gets. Labels of containers can only narrow it. */
export interface DockerDefaults {
  readonly modules: ModuleConfigs;
  /** Empty: no rule. */
  readonly allowGroups: readonly string[];
  readonly allowEmails: readonly string[];
  /** Whether a container may be published without a login. */
  readonly allowPublic: boolean;
  readonly upstreamTls: UpstreamTlsConfig | null;
}

export const NO_DOCKER_CONFIG: DockerConfig = {
  socket: null,
  defaults: { modules: {}, allowGroups: [], allowEmails: [], allowPublic: false, upstreamTls: null },
  sharedLabels: [],
};
