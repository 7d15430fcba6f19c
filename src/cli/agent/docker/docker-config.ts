import type { UpstreamTlsConfig } from '../config/agent-config.ts';
import type { ModuleConfigs } from '../modules/module-config.ts';

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
